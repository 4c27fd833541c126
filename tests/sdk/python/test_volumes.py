"""Volumes: folders that outlive sandboxes, and that many sandboxes have at once."""

import io
import json
import urllib.error
import urllib.parse
import urllib.request
import uuid

import pytest
from e2b import (
    AuthenticationException,
    Sandbox,
    SandboxException,
    Volume,
    VolumeException,
    VolumeFileType,
    VolumeNotFoundException,
    VolumePathNotFoundException,
)


@pytest.fixture
def volume():
    volume = Volume.create(f"mine-{uuid.uuid4().hex[:8]}")
    yield volume
    Volume.destroy(volume.volume_id)


def test_a_volume_is_made_found_and_removed():
    name = f"made-{uuid.uuid4().hex[:8]}"
    volume = Volume.create(name)
    assert volume.name == name and volume.token and volume.volume_id
    assert (volume.volume_id, name) in [(it.volume_id, it.name) for it in Volume.list()]
    assert Volume.get_info(volume.volume_id).token == volume.token
    again = Volume.connect(volume.volume_id)
    again.write_file("kept.txt", "kept")
    assert volume.read_file("kept.txt") == "kept"
    with pytest.raises(VolumeException, match="already"):
        Volume.create(name)
    assert Volume.destroy(volume.volume_id) is True
    assert Volume.destroy(volume.volume_id) is False
    with pytest.raises(VolumeNotFoundException):
        Volume.get_info(volume.volume_id)
    Volume.destroy(Volume.create(name).volume_id)


def test_names_that_are_none_are_refused():
    for name in ("", "a b", "../x", "a/b", "x" * 200):
        with pytest.raises(VolumeException):
            Volume.create(name)


def test_what_is_in_a_volume_is_written_read_and_listed(volume):
    written = volume.write_file("a.txt", "héllo")
    assert (written.path, written.size, written.type) == ("/a.txt", 6, VolumeFileType.FILE)
    assert volume.read_file("/a.txt") == "héllo"
    assert volume.read_file("a.txt", format="bytes") == "héllo".encode()
    blob = bytes(range(256)) * 8192
    volume.write_file("blob", io.BytesIO(blob))
    assert b"".join(volume.read_file("blob", format="stream")) == blob
    volume.write_file("empty", b"")
    assert volume.read_file("empty") == ""

    with pytest.raises(VolumePathNotFoundException):
        volume.make_dir("deep/er")
    made = volume.make_dir("deep/er", force=True, uid=1000, gid=1000, mode=0o750)
    assert (made.type, made.mode & 0o777, made.uid, made.gid) == (VolumeFileType.DIRECTORY, 0o750, 1000, 1000)
    volume.write_file("deep/er/leaf", "leaf")
    assert {it.path for it in volume.list("/")} == {"/a.txt", "/blob", "/deep", "/empty"}
    assert {it.path for it in volume.list("/deep", depth=2)} == {"/deep/er", "/deep/er/leaf"}
    assert volume.exists("deep/er/leaf") and not volume.exists("deep/er/other")

    changed = volume.update_metadata("a.txt", uid=7, gid=8, mode=0o600)
    assert (changed.uid, changed.gid, changed.mode & 0o777) == (7, 8, 0o600)
    assert volume.get_info("a.txt").mtime.tzinfo is not None
    volume.remove("deep")
    assert not volume.exists("deep")
    for gone in (lambda: volume.remove("deep"), lambda: volume.read_file("no"), lambda: volume.list("no")):
        with pytest.raises(VolumePathNotFoundException):
            gone()


def test_sandboxes_share_a_volume_and_it_outlives_them(volume, make):
    volume.write_file("from-outside", "outside")
    one = make(volume_mounts={"/data": volume})
    two = make(volume_mounts={"/home/user/shared": volume.name})
    assert [(it["name"], it["path"]) for it in one.get_info().volume_mounts] == [(volume.name, "/data")]
    assert one.files.read("/data/from-outside") == "outside"
    one.commands.run("echo by one > /data/one && mkdir /data/folder && chmod 700 /data/folder")
    assert two.files.read("/home/user/shared/one") == "by one\n"
    assert volume.get_info("one").uid == 1000, "whoever is inside is the same outside"
    volume.write_file("one", "by the house")
    assert one.commands.run("cat /data/one; touch /data/mine; stat -c %U /data/one").stdout == "by the houseuser\n"
    with pytest.raises(VolumeException, match="mounted"):
        Volume.destroy(volume.volume_id)

    fork = one.fork(timeout=60)[0]
    try:
        assert fork.files.read("/data/one") == "by the house", "a copy has the volume itself, not a copy of it"
        fork.files.write("/data/fork", "fork")
    finally:
        fork.kill()
    assert volume.read_file("fork") == "fork"
    assert one.pause() and one.connect(timeout=60)
    assert one.files.read("/data/fork") == "fork"
    assert one.pause(mode="filesystem") and one.connect(timeout=60)
    assert one.files.read("/data/fork") == "fork", "it is there again after a night without memory"
    one.kill()
    two.kill()
    assert volume.read_file("one") == "by the house"


def test_volumes_that_cannot_be_mounted_are_refused(volume):
    with pytest.raises(SandboxException, match="no volume"):
        Sandbox.create(volume_mounts={"/data": "nobody-made-this"})
    for path in ("/", "data", "/proc/x", "/usr", "/a/../etc"):
        with pytest.raises(SandboxException, match="mounted at"):
            Sandbox.create(volume_mounts={path: volume})
    other = Volume.create(f"other-{uuid.uuid4().hex[:8]}")
    with pytest.raises(SandboxException, match="inside another"):
        Sandbox.create(volume_mounts={"/data": volume, "/data/other": other})
    Volume.destroy(other.volume_id)


def test_no_path_and_no_link_leads_out_of_a_volume(volume, make):
    sandbox = make(volume_mounts={"/data": volume})
    sandbox.commands.run("ln -s /etc/passwd /data/absolute; ln -s ../../../../etc/passwd /data/relative; mkfifo /data/pipe")
    for path in ("absolute", "relative", "../../etc/passwd", "/../../etc/passwd", "a/../../x", "pipe"):
        with pytest.raises((VolumePathNotFoundException, VolumeException)):
            volume.read_file(path)
    assert volume.get_info("relative").type == VolumeFileType.SYMLINK
    assert volume.get_info("relative").target == "../../../../etc/passwd"
    with pytest.raises(VolumeException):
        volume.write_file("pipe", "nobody reads this")
    volume.remove("absolute")
    assert "root" in sandbox.commands.run("cat /etc/passwd").stdout


def test_a_token_opens_its_own_volume_and_no_other(volume, url):
    other = Volume.create(f"other-{uuid.uuid4().hex[:8]}")
    try:
        stolen = Volume(volume.volume_id, volume.name, token=other.token)
        with pytest.raises(AuthenticationException):
            stolen.list("/")
        for header in ({}, {"Authorization": "Bearer "}, {"Authorization": f"Basic {volume.token}"}):
            request = urllib.request.Request(f"{url}/volumecontent/{volume.volume_id}/dir?path=/", headers=header)
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(request)
            assert refused.value.code == 401 and json.loads(refused.value.read())["code"] == 401
    finally:
        Volume.destroy(other.volume_id)
