# SPDX-License-Identifier: Apache-2.0
"""The program mnist that `./dev cross arm64 edge --ship` makes has at most 8 MB, and works with programs of this machine, whose
OpenSSL is Debian's: it is a worker beside a chief and a server, over tcp, once by a token and once by certificates that it made
itself. SHOAL_TEST_TARGET names another target."""
import os
import pathlib
import re
import shutil
import subprocess
import time

import commands
import outcome
from job import Job, make_token, program

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TARGET = os.environ.get("SHOAL_TEST_TARGET", "arm64")
BUILD = ROOT / f"build-{TARGET}-edge-ship"
BYTES_MAX = 8_000_000
STEPS = 20
SECONDS_MAX = 600  # the emulator
TASKS = ("ps 0", "chief 0", "worker 0")
FLAGS = ["--seed", "11", "--steps", str(STEPS), "--batch", "8", "--model", "mlp", "--backend", "portable", "--strategy", "sync",
         "--transport", "tcp", "--heartbeat-secs", "60"]


def certificates(shipped, folder):
    """Folders for --tls-dir, by task."""
    def keys(*arguments):
        subprocess.run([*shipped, "keys", *arguments], timeout=SECONDS_MAX, check=True, stdout=subprocess.DEVNULL)

    folder.mkdir()
    keys("ca", "--out", str(folder / "ca"))
    made = {}
    for task in TASKS:
        role, index = task.split()
        made[task] = str(folder / f"{role}-{index}")
        keys("task", "--ca", str(folder / "ca"), "--role", role, "--index", index, "--out", made[task])
    return made


def train(shipped, by_token):
    """Seconds from the first start to the last end."""
    with Job(tasks=TASKS, flags=FLAGS, token=make_token() if by_token else None) as job:
        tls = {} if by_token else certificates(shipped, job.folder / "keys")
        begun = time.monotonic()
        processes = {}
        for task in TASKS:
            command = shipped if task == "worker 0" else program("mnist")
            processes[task] = job.start(task, *(["--tls-dir", tls[task]] if tls else []), command=command)
        job.expect_all_end(processes, seconds=SECONDS_MAX)
        if job.finished()["reason"] != "max_steps" or job.finished()["global_step"] != STEPS:
            raise AssertionError(f"it ended otherwise: {job.finished()}")
        lines = processes["worker 0"].text()
        if not re.search(rf"step {STEPS}\b", lines):
            raise AssertionError(f"the worker has not said that it took part until step {STEPS}:\n{lines[-3000:]}")
        return time.monotonic() - begun


def body():
    outcome.needs({"dpkg": "dpkg", "apt-get": "apt"})
    commands.run("./dev", "cross", TARGET, "edge", "--ship", cwd=ROOT)
    if not (ROOT / "build-sysroot" / TARGET / "openssl" / "filled").exists():
        raise outcome.Skip("the source of OpenSSL is not to be had from this machine's mirror of Debian (SHOAL_OPENSSL_SOURCE)")
    shipped = BUILD / "bin" / "mnist"
    size = shipped.stat().st_size
    if size > BYTES_MAX:
        raise AssertionError(f"{shipped} has {size:,} bytes, more than {BYTES_MAX:,}")
    emulator = re.search(r"^SHOAL_QEMU:FILEPATH=(.+)$", (BUILD / "CMakeCache.txt").read_text(), re.MULTILINE)
    command = [*([shutil.which(emulator.group(1))] if emulator else []), str(shipped)]
    seconds = train(command, by_token=True) + train(command, by_token=False)
    return {"seconds": seconds, "how": f"mnist for {TARGET}, {size:,} bytes, as a worker by token and by certificates"}


if __name__ == "__main__":
    outcome.end_with(body)
