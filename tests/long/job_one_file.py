# SPDX-License-Identifier: Apache-2.0
"""One file is a whole cluster: the example mnist, static and for 64-bit ARM, in a root that holds nothing but it and an empty /tmp: no
/proc, /etc, /dev or /sys, and nothing can be written outside of /tmp. It launches itself as a chief, two workers, a server and an evaluator, which train synchronously, with a token,
and end with the weights that a program of this machine has with --replicas 3, bit for bit."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time

import commands
import outcome

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / "build-arm64-edge"
STEPS = 30
SECONDS_MAX = 1500  # the emulator
FLAGS = ["--seed", "11", "--steps", str(STEPS), "--batch", "16", "--model", "mlp", "--backend", "portable", "--throttle-secs", "0",
         "--save-checkpoints-steps", str(STEPS)]


def checksums(model_dir):
    """Of the variables and slots of the last checkpoint, by name."""
    index = json.loads((model_dir / f"model.ckpt-{STEPS}.index").read_text())
    return {tensor["name"]: [piece["checksum"] for piece in tensor["pieces"]] for tensor in index["manifest"]["tensors"]}


@contextlib.contextmanager
def mounted(place, what):
    commands.run("mount", *what, place)
    try:
        yield
    finally:
        commands.run("umount", "-l", place)


def body():
    outcome.needs({"dpkg": "dpkg", "apt-get": "apt"})
    if os.geteuid() != 0:
        raise outcome.Skip("only root may change the root of a process")
    commands.run("./dev", "cross", "arm64", "edge", "--show-only", cwd=ROOT)  # builds, and runs no test
    cache = (BUILD / "CMakeCache.txt").read_text()
    emulator = shutil.which(re.search(r"^SHOAL_QEMU:FILEPATH=(.+)$", cache, re.MULTILINE).group(1))
    begun = time.monotonic()
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SHOAL_")}
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as mounts:
        root, here = pathlib.Path(folder, "root"), pathlib.Path(folder, "here")
        (root / "tmp").mkdir(parents=True)
        shutil.copy(BUILD / "bin" / "mnist", root / "mnist")
        mounts.enter_context(mounted(root, ["--bind", str(root)]))
        mounts.enter_context(mounted(root / "tmp", ["-t", "tmpfs", "tmpfs"]))
        commands.run("mount", "-o", "remount,bind,ro", root)
        wrapper = f"{pathlib.Path(__file__).parent / 'one_file' / 'in_root.py'} {root} {emulator}"
        launch = [emulator, str(root / "mnist"), "launch", "--no-logs", "--ps", "1", "--workers", "2", "--evaluator", "--wrapper", wrapper,
                  "--", "--model-dir", "/tmp/m", "--strategy", "sync", "--heartbeat-secs", "60", *FLAGS]
        ended = subprocess.run(launch, env=kept | {"TMPDIR": "/tmp"}, cwd="/", text=True, stdin=subprocess.DEVNULL, capture_output=True,
                               timeout=SECONDS_MAX)
        if ended.returncode != 0:
            raise AssertionError(f"status {ended.returncode}:\n{ended.stderr[-5000:]}")
        # The launcher, outside of that root, sees no report of the evaluator, so the line comes from the evaluator itself.
        if f"Evaluated at global step {STEPS}: accuracy 0." not in ended.stdout:
            raise AssertionError(f"it said: {ended.stdout}")
        left = sorted(entry.name for entry in root.iterdir())
        if left != ["mnist", "tmp"]:
            raise AssertionError(f"the root has {left} now")
        seconds = time.monotonic() - begun
        subprocess.run([os.environ["SHOAL_TEST_MNIST"], "--model-dir", str(here), "--replicas", "3", *FLAGS], env=kept, check=True,
                       stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS_MAX)
        expected, found = checksums(here), checksums(root / "tmp" / "m")
        others = [name for name in expected if found.get(name) != expected[name]]
        return {"other_steps": others, "seconds": seconds,
                "how": f"five tasks of one static file for arm64 in an empty root; {len(expected)} equal tensors"}


if __name__ == "__main__":
    outcome.end_with(body)
