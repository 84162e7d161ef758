# SPDX-License-Identifier: Apache-2.0
"""A synchronous job whose chief and server are programs of this machine and whose worker is one of another kind: they talk over
tcp, encrypted by a token, and end right. The worker is for 64-bit ARM (or for SHOAL_TEST_TARGET), under qemu-user."""
import os
import pathlib
import re
import time

import commands
import outcome
from job import Job, make_token

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TARGET = os.environ.get("SHOAL_TEST_TARGET", "arm64")
STEPS = 20
SECONDS_MAX = 1200  # the emulator


def emulated(build):
    """The words that start the trainee of that build."""
    emulator = re.search(r"^SHOAL_QEMU:FILEPATH=(.+)$", (build / "CMakeCache.txt").read_text(), re.MULTILINE).group(1)
    return [emulator, "-L", str(ROOT / "build-sysroot" / TARGET), str(build / "bin/tests/trainee")]


def body():
    outcome.needs({"dpkg": "dpkg", "apt-get": "apt"})
    commands.run("./dev", "cross", TARGET, "edge", "--show-only", cwd=ROOT)  # builds, and runs no test
    worker = emulated(ROOT / f"build-{TARGET}-edge")
    flags = ["--seed", "11", "--steps", str(STEPS), "--batch", "8", "--strategy", "sync", "--transport", "tcp", "--backend", "reference",
             "--heartbeat-secs", "60"]
    with Job(tasks=("ps 0", "chief 0", "worker 0"), flags=flags, token=make_token()) as job:
        begun = time.monotonic()
        processes = {"ps 0": job.start("ps 0"), "chief 0": job.start("chief 0"), "worker 0": job.start("worker 0", command=worker)}
        job.expect_all_end(processes, seconds=SECONDS_MAX)
        seconds = time.monotonic() - begun
        if job.finished()["reason"] != "max_steps" or job.newest_step() != STEPS:
            raise AssertionError(f"it ended otherwise: {job.finished()}, step {job.newest_step()}")
        lines = processes["worker 0"].text()
        if not re.search(rf"step {STEPS}\b", lines):
            raise AssertionError(f"the worker has not said that it took part until step {STEPS}:\n{lines[-3000:]}")
        return {"seconds": seconds, "how": f"chief and server of this machine, a worker for {TARGET}"}


if __name__ == "__main__":
    outcome.end_with(body)
