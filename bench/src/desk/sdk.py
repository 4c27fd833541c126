"""The loop of E2B's Python SDK, so many times; prints what each took, in microseconds. Run by `carrel bench sdk`."""

import sys
import time

from e2b import Sandbox

for number in range(int(sys.argv[1])):
    begin = time.perf_counter()
    sandbox = Sandbox.create(timeout=60)
    said = sandbox.commands.run("echo hi").stdout
    sandbox.files.write("hi.txt", "hi")
    read = sandbox.files.read("hi.txt")
    sandbox.kill()
    took = time.perf_counter() - begin
    assert (said, read) == ("hi\n", "hi"), (said, read)
    print(round(took * 1e6), flush=True)
