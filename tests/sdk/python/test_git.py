"""The SDK's helpers for git, every one of them, against a remote that lies in the sandbox itself."""

import asyncio

from e2b import AsyncSandbox


def test_every_git_helper_works(make):
    sandbox = make()
    git, work = sandbox.git, "/home/user/work"
    sandbox.commands.run("git init -q --bare /home/user/remote.git")
    git.init(work, initial_branch="main")
    git.configure_user("Me", "me@example.org")
    git.set_config("carrel.colour", "red")
    assert git.get_config("carrel.colour") == "red" and git.get_config("carrel.none") is None
    sandbox.files.write(f"{work}/a.txt", "one\n")
    assert [it.name for it in git.status(work).file_status] == ["a.txt"]
    git.add(work)
    git.commit(work, "first", author_name="You", author_email="you@example.org")
    assert sandbox.commands.run(f"git -C {work} log --format=%an").stdout == "You\n"
    git.remote_add(work, "origin", "/home/user/remote.git")
    assert git.remote_get(work, "origin") == "/home/user/remote.git" and git.remote_get(work, "other") is None
    git.push(work, remote="origin", branch="main")
    git.clone("/home/user/remote.git", path="/home/user/copy", branch="main", depth=1)
    assert sandbox.files.read("/home/user/copy/a.txt") == "one\n"

    git.create_branch(work, "topic")
    assert git.branches(work).current_branch == "topic"
    git.checkout_branch(work, "main")
    assert set(git.branches(work).branches) == {"main", "topic"}
    git.delete_branch(work, "topic", force=True)
    assert git.branches(work).branches == ["main"]

    sandbox.files.write(f"{work}/a.txt", "two\n")
    git.add(work, files=["a.txt"])
    git.restore(work, ["a.txt"], staged=True)
    git.restore(work, ["a.txt"])
    assert sandbox.files.read(f"{work}/a.txt") == "one\n"
    git.commit(work, "second", allow_empty=True)
    git.push(work)
    git.pull("/home/user/copy")
    assert sandbox.commands.run("git -C /home/user/copy log --format=%s -1").stdout == "second\n"
    git.reset(work, mode="hard", target="HEAD~1")
    assert git.status(work).behind == 1
    git.dangerously_authenticate("me", "token", host="git.example.org")
    assert "git.example.org" in sandbox.commands.run("cat ~/.git-credentials").stdout


def test_every_git_helper_works_asynchronously():
    async def story():
        sandbox = await AsyncSandbox.create(timeout=120)
        try:
            git, work = sandbox.git, "/home/user/work"
            await sandbox.commands.run("git init -q --bare /home/user/remote.git")
            await git.init(work, initial_branch="main")
            await git.configure_user("Me", "me@example.org")
            await git.set_config("carrel.colour", "red")
            assert await git.get_config("carrel.colour") == "red"
            await sandbox.files.write(f"{work}/a.txt", "one\n")
            await git.add(work)
            await git.commit(work, "first")
            await git.remote_add(work, "origin", "/home/user/remote.git")
            assert await git.remote_get(work, "origin") == "/home/user/remote.git"
            await git.push(work, remote="origin", branch="main")
            await git.clone("/home/user/remote.git", path="/home/user/copy", branch="main")
            await git.create_branch(work, "topic")
            await git.checkout_branch(work, "main")
            assert set((await git.branches(work)).branches) == {"main", "topic"}
            await git.delete_branch(work, "topic", force=True)
            await sandbox.files.write(f"{work}/a.txt", "two\n")
            await git.restore(work, ["a.txt"])
            assert not (await git.status(work)).file_status
            await git.pull("/home/user/copy")
            await git.reset(work, mode="hard")
            await git.dangerously_authenticate("me", "token", host="git.example.org")
        finally:
            await sandbox.kill()

    asyncio.run(story())
