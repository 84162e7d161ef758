# SPDX-License-Identifier: Apache-2.0
"""The program mnist that `./dev cross arm64 minimal --ship` makes has at most 4 MB, and works although it has no C++ exceptions: it is
a worker beside a chief and a server, a signal lets it save and end well, and errors have the sentence, the exit status and the report
that they have in other builds. SHOAL_TEST_TARGET names another target."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

import commands
import outcome
from job import Job, program

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TARGET = os.environ.get("SHOAL_TEST_TARGET", "arm64")
BUILD = ROOT / f"build-{TARGET}-minimal-ship"
BYTES_MAX = 4_000_000
STEPS = 20
SECONDS_MAX = 600  # the emulator
TASKS = ("ps 0", "chief 0", "worker 0")
ALONE = {name: value for name, value in os.environ.items() if name not in ("SHOAL_DATA", "TF_CONFIG")}


def train(shipped):
    """The program as a worker of programs of this machine."""
    flags = ["--seed", "11", "--steps", str(STEPS), "--batch", "8", "--model", "mlp", "--backend", "portable", "--strategy", "sync",
             "--transport", "tcp", "--heartbeat-secs", "60"]
    with Job(tasks=TASKS, flags=flags) as job:
        processes = {task: job.start(task, command=shipped if task == "worker 0" else program("mnist")) for task in TASKS}
        job.expect_all_end(processes, seconds=SECONDS_MAX)
        if job.finished()["reason"] != "max_steps" or job.finished()["global_step"] != STEPS:
            raise AssertionError(f"it ended otherwise: {job.finished()}")
        lines = processes["worker 0"].text()
        if not re.search(rf"step {STEPS}\b", lines):
            raise AssertionError(f"the worker has not said that it took part until step {STEPS}:\n{lines[-3000:]}")


def expect_error(shipped, model_dir, status, sentence, *flags):
    """The program fails with this status and sentence, and the report of its folder has the sentence."""
    ended = subprocess.run([*shipped, "--model", "mlp", "--model-dir", str(model_dir), *flags], stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True, check=False, env=ALONE, timeout=SECONDS_MAX)
    if ended.returncode != status or f"error: {sentence}" not in ended.stderr:
        raise AssertionError(f"{flags}: status {ended.returncode} in place of {status}\n{ended.stderr[-3000:]}")
    report = json.loads((model_dir / "report.json").read_text())
    if report["status"] != "failed" or not report["error"].startswith(sentence):
        raise AssertionError(f"{flags}: the report says {report}")


def expect_usage(shipped):
    ended = subprocess.run([*shipped, "--no-such-flag"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, env=ALONE,
                           timeout=SECONDS_MAX)
    if ended.returncode != 2 or "--no-such-flag" not in ended.stderr:
        raise AssertionError(f"a flag that there is not: status {ended.returncode}\n{ended.stderr}")


def expect_interrupted(shipped, model_dir):
    """SIGTERM in the middle of training: a checkpoint, status 0."""
    process = subprocess.Popen([*shipped, "--model", "mlp", "--model-dir", str(model_dir), "--steps", "1000000", "--batch", "8"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=ALONE)
    lines = []
    for line in process.stderr:  # until the first step was trained, or the end
        lines.append(line)
        if "step = 1" in line:
            process.send_signal(signal.SIGTERM)
    if process.wait(timeout=SECONDS_MAX) != 0:
        raise AssertionError(f"SIGTERM: status {process.returncode}\n{''.join(lines)[-3000:]}")
    if json.loads((model_dir / "report.json").read_text())["status"] == "failed":
        raise AssertionError("SIGTERM: the report says that the program failed")


def body():
    outcome.needs({"dpkg": "dpkg", "apt-get": "apt"})
    commands.run("./dev", "cross", TARGET, "minimal", "--ship", cwd=ROOT)
    shipped = BUILD / "bin" / "mnist"
    size = shipped.stat().st_size
    if size > BYTES_MAX:
        raise AssertionError(f"{shipped} has {size:,} bytes, more than {BYTES_MAX:,}")
    emulator = re.search(r"^SHOAL_QEMU:FILEPATH=(.+)$", (BUILD / "CMakeCache.txt").read_text(), re.MULTILINE)
    command = [*([shutil.which(emulator.group(1))] if emulator else []), str(shipped)]
    begun = time.monotonic()
    train(command)
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        expect_usage(command)
        expect_error(command, place / "no_data", 2, "no train-images-idx3-ubyte", "--data-dir", str(place / "nowhere"))
        expect_error(command, place / "nan", 3, "the loss is NaN", "--steps", "50", "--learning-rate", "1e30")
        expect_interrupted(command, place / "interrupted")
    return {"seconds": time.monotonic() - begun, "how": f"mnist for {TARGET}, {size:,} bytes, as a worker, at errors and at a signal"}


if __name__ == "__main__":
    outcome.end_with(body)
