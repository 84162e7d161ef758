# SPDX-License-Identifier: Apache-2.0
"""How a script of this folder ends: with a line of JSON on its standard output, which says what it has found out, and status 0,
or 3 if that is not what it has to be; with "skipped: why" and status 77; or with an error. Whatever it has started is gone
then."""
import contextlib
import ctypes
import json
import os
import pathlib
import shutil
import signal
import sys
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "cluster" / "processes"))  # job.py

DIFFERENT = 3
SKIPPED = 77
PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"  # where Debian has daemons and ip

_PR_SET_CHILD_SUBREAPER = 36
_END_SECONDS = 20


class Skip(Exception):
    """What the machine lacks, in words."""


def needs(programs):
    """Skips unless all are installed: {"srun": "slurm-wlm"}, the program and its Debian package."""
    missing = sorted({package for program, package in programs.items() if not shutil.which(program, path=PATH)})
    if missing:
        raise Skip(f"install the Debian package{'s' if len(missing) > 1 else ''} {' '.join(missing)}")


def _children():
    found = []
    for task in pathlib.Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):
            found += [int(child) for child in (task / "children").read_text().split()]
    return found


def _end_children():
    """Kills them, and theirs, which are ours once they are orphans."""
    deadline = time.monotonic() + _END_SECONDS
    while children := _children():
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if time.monotonic() > deadline:
            raise AssertionError(f"processes {children} do not end, though they were killed")
        time.sleep(0.01)


def end_with(body):
    """Runs body(), whose dictionary is what the script has found out, and ends the script. It has "seconds", and "how", a few
    words for people; "other_steps" are those with other bits than they should have."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that it cleans up
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
    os.environ["PATH"] = PATH
    try:
        found = body()
        print(json.dumps(found), flush=True)
        sys.exit(DIFFERENT if found.get("other_steps") else 0)
    except Skip as skip:
        print(f"skipped: {skip}", flush=True)
        sys.exit(SKIPPED)
    finally:
        _end_children()
