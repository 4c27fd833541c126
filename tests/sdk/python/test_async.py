"""The asynchronous SDK, and many at once."""

import asyncio
import time
import uuid

import pytest
from e2b import AsyncSandbox, AsyncSecret, AsyncTemplate, AsyncVolume, NotFoundException, PtySize


def test_the_asynchronous_sdk_does_the_same():
    async def story():
        sandbox = await AsyncSandbox.create(timeout=120, envs={"A": "b"})
        try:
            assert (await sandbox.commands.run("echo $A")).stdout == "b\n"
            await sandbox.files.write("a.txt", "content")
            assert await sandbox.files.read("a.txt") == "content"
            assert "a.txt" in [it.name for it in await sandbox.files.list("/home/user")]

            handle = await sandbox.commands.run("cat", background=True, stdin=True)
            await sandbox.commands.send_stdin(handle.pid, "typed")
            await sandbox.commands.close_stdin(handle.pid)
            assert (await handle.wait()).stdout == "typed"

            events = []
            watch = await sandbox.files.watch_dir("/home/user", on_event=events.append)
            await sandbox.files.write("b.txt", "content")
            for _ in range(200):
                if len(events) >= 3:
                    break
                await asyncio.sleep(0.05)
            assert {"b.txt"} == {event.name for event in events}
            await watch.stop()

            shown = bytearray()
            terminal = await sandbox.pty.create(PtySize(rows=10, cols=40), on_data=shown.extend, timeout=0)
            await sandbox.pty.send_stdin(terminal.pid, b"echo in a $((40 + 2)) terminal\n")
            for _ in range(200):
                if b"in a 42 terminal" in shown:
                    break
                await asyncio.sleep(0.05)
            assert b"in a 42 terminal" in shown
            assert await sandbox.pty.kill(terminal.pid)

            assert await sandbox.pause() and not await sandbox.is_running()
            await sandbox.connect(timeout=60)
            assert await sandbox.is_running()
            assert (await sandbox.get_info()).sandbox_id == sandbox.sandbox_id
            assert await sandbox.get_metrics()
        finally:
            assert await sandbox.kill()

    asyncio.run(story())


def test_the_rest_of_the_asynchronous_sdk_does_the_same(url):
    async def story():
        sandbox = await AsyncSandbox.create(timeout=120)
        try:
            files, commands = sandbox.files, sandbox.commands
            await files.write_files([{"path": "many/a", "data": "a"}, {"path": "many/b", "data": "b"}])
            assert await files.exists("many/a") and not await files.exists("many/c")
            assert await files.make_dir("many/more") and (await files.get_info("many/a")).size == 1
            assert (await files.rename("many/b", "many/c")).name == "c"
            await files.remove("many")
            assert sandbox.download_url("a.txt").startswith(url) and sandbox.upload_url("a.txt").startswith(url)

            handle = await commands.run("cat", background=True, stdin=True, timeout=0)
            assert handle.pid in [it.pid for it in await commands.list()]
            joined = await commands.connect(handle.pid, timeout=0)

            async def lines():
                yield "streamed"

            await commands.stream_input(handle.pid, lines())
            await handle.close_stdin()
            assert (await joined.wait()).stdout == "streamed"
            sleeps = await commands.run("sleep 1000", background=True, timeout=0)
            await sleeps.disconnect()
            assert sleeps.pid in [it.pid for it in await commands.list()], "who hangs up ends nothing"
            assert await commands.kill(sleeps.pid)
            other = await commands.run("cat", background=True, stdin=True, timeout=0)
            await other.send_stdin("x")
            assert await other.kill()

            terminal = await sandbox.pty.create(PtySize(rows=10, cols=40), on_data=lambda _: None, timeout=0)
            await sandbox.pty.resize(terminal.pid, PtySize(rows=20, cols=50))
            again = await sandbox.pty.connect(terminal.pid, on_data=lambda _: None, timeout=0)
            await sandbox.pty.send_stdin(again.pid, b"exit\n")
            await terminal.wait()

            await sandbox.set_timeout(200)
            assert sandbox.sandbox_id in [it.sandbox_id for it in await AsyncSandbox.list().next_items()]
            kept = await sandbox.create_snapshot()
            assert kept.snapshot_id in [it.snapshot_id for it in await sandbox.list_snapshots().next_items()]
            assert await AsyncSandbox.delete_snapshot(kept.snapshot_id)
            for fork in await sandbox.fork(timeout=60):
                assert await fork.kill()
            await sandbox.update_network({"deny_out": ["0.0.0.0/0"]})
            assert (await sandbox.get_info()).network["deny_out"] == ["0.0.0.0/0"]
            assert sandbox.get_host(80).startswith(f"80-{sandbox.sandbox_id}.") and sandbox.get_mcp_url()
            assert sandbox.traffic_access_token is None
            with pytest.raises(NotFoundException):
                await sandbox.get_mcp_token()
            await sandbox.beta_pause()
        finally:
            assert await sandbox.kill()

    asyncio.run(story())


def test_volumes_and_secrets_asynchronously():
    async def story():
        name = f"async-{uuid.uuid4().hex[:8]}"
        volume = await AsyncVolume.create(name)
        try:
            assert (await AsyncVolume.connect(volume.volume_id)).token == volume.token and volume.name == name
            assert name in [it.name for it in await AsyncVolume.list()]
            await volume.make_dir("a/b", force=True)
            await volume.write_file("a/b/c", "content")
            assert await volume.read_file("a/b/c") == "content"
            assert b"".join([it async for it in await volume.read_file("a/b/c", format="stream")]) == b"content"
            assert [it.path for it in await volume.list("a")] == ["/a/b"] and await volume.exists("a")
            assert (await volume.update_metadata("a", mode=0o700)).mode & 0o777 == 0o700
            assert (await volume.get_info("a/b/c")).size == 7
            await volume.remove("a")
            sandbox = await AsyncSandbox.create(timeout=60, volume_mounts={"/data": volume})
            await sandbox.files.write("/data/x", "x")
            assert await sandbox.kill() and await volume.read_file("x") == "x"
        finally:
            assert await AsyncVolume.destroy(volume.volume_id)

        await AsyncSecret.create(name, "one")
        assert (await AsyncSecret.update(name, "two")).version == 2 and await AsyncSecret.exists(name)
        assert (await AsyncSecret.get_info(name)).name == name and AsyncSecret.fill(name) == f"${{e2b.secrets.{name}}}"
        assert name in [it.name for it in await AsyncSecret.list().next_items()]
        assert AsyncSecret.iam_token(audience="x", token_type="JWT-SVID")["audience"] == "x"
        assert await AsyncSecret.destroy(name)

    asyncio.run(story())


def test_templates_asynchronously():
    async def story():
        name = f"async-{uuid.uuid4().hex[:8]}"
        template = AsyncTemplate().from_template("base").run_cmd("true")
        info = await AsyncTemplate.build_in_background(template, name)
        while str((await AsyncTemplate.get_build_status(info)).status) not in ("ready", "TemplateBuildStatus.READY"):
            await asyncio.sleep(0.1)
        assert await AsyncTemplate.exists(name) and await AsyncTemplate.alias_exists(name)
        await AsyncTemplate.assign_tags(name, "v1")
        assert {it.tag for it in await AsyncTemplate.get_tags(name)} == {"default", "v1"}
        await AsyncTemplate.remove_tags(name, "v1")
        await AsyncTemplate.build(template, name)
        assert await AsyncSandbox.delete_snapshot(name)

    asyncio.run(story())


def test_a_hundred_at_once_all_work(capsys):
    async def one(number):
        sandbox = await AsyncSandbox.create(timeout=300, request_timeout=120)
        try:
            said = await sandbox.commands.run(f"echo {number}")
            await sandbox.files.write("number", str(number))
            return said.stdout == f"{number}\n" and await sandbox.files.read("number") == str(number)
        finally:
            await sandbox.kill()

    async def story():
        begin = time.monotonic()
        for number in range(5):
            assert await one(number)
        alone = (time.monotonic() - begin) / 5
        begin = time.monotonic()
        assert all(await asyncio.gather(*(one(number) for number in range(100))))
        return alone, time.monotonic() - begin

    alone, together = asyncio.run(story())
    with capsys.disabled():
        print(f"\none alone {alone * 1000:.0f} ms; a hundred at once {together:.2f} s, {100 / together:.0f} a second")
