#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A project that fetches Shoal by git, as docs/how-to/install.md shows it, compiles all of it and trains for ten steps. What ctest
runs of it (package.fetched) compiles a part."""
import os
import pathlib
import shutil
import sys
import tempfile
import time

import outcome
from commands import run

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def body():
    outcome.needs({"cmake": "cmake", "ninja": "ninja-build", "git": "git"})
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="shoal-fetched-") as folder:
        run(sys.executable, "-B", ROOT / "tests" / "package" / "fetched.py", "--train", ROOT, shutil.which("cmake"), os.environ.get("CXX", "c++"),
            pathlib.Path(folder, "fetched"))
    return {"seconds": time.monotonic() - begun, "how": "a project that fetches Shoal without a network has trained"}


if __name__ == "__main__":
    outcome.end_with(body)
