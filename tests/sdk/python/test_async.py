"""The asynchronous SDK, and many at once."""

import asyncio
import time

from e2b import AsyncSandbox, PtySize


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
