#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two builds of one tree, in folders of different names and depths, are equal bit for bit: the libraries that are installed, the
program `shoal` and an example. SHOAL_TEST_REPRODUCIBLE names other targets, with blanks between them."""
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import outcome
from commands import run

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TARGETS = ("shoal_library", "shoal_testing_library", "shoal_program", "mnist")
FOLDERS = ("a", "another/much/deeper/folder")


def copy_tree(folder):
    names = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, stdout=subprocess.PIPE,
                           text=True, check=True).stdout.split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)


def hashes(folder, targets):
    """{path in the build: hash} of libraries and programs."""
    copy_tree(folder)
    build = folder / "build"
    # A compiler cache would give both builds the same files.
    environment = {key: value for key, value in os.environ.items() if not key.endswith("_COMPILER_LAUNCHER")} | {"CCACHE_DISABLE": "1"}
    run("cmake", "-S", folder, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DSHOAL_ONEDNN=OFF", "-DSHOAL_TESTS=OFF",
        "-DCMAKE_UNITY_BUILD=ON", "-DCMAKE_UNITY_BUILD_BATCH_SIZE=10", env=environment)
    run("cmake", "--build", build, "--target", *targets, env=environment)
    made = [path for path in build.rglob("*") if path.is_file() and (path.suffix == ".a" or path.parent.name == "bin")]
    return {str(path.relative_to(build)): hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(made)}


def body():
    outcome.needs({"cmake": "cmake", "ninja": "ninja-build", "git": "git"})
    begun = time.monotonic()
    targets = os.environ.get("SHOAL_TEST_REPRODUCIBLE", "").split() or TARGETS
    with tempfile.TemporaryDirectory(prefix="shoal-twice-") as temporary:
        first, second = (hashes(pathlib.Path(temporary) / folder, targets) for folder in FOLDERS)
    if not first or first.keys() != second.keys():
        raise AssertionError(f"other files: {sorted(first.keys() ^ second.keys())}")
    for path, digest in first.items():
        print(f"{digest[:16]} {second[path][:16]} {path}", file=sys.stderr)
    if different := [path for path in first if first[path] != second[path]]:
        raise AssertionError(f"two builds differ in {', '.join(different)}")
    return {"seconds": time.monotonic() - begun, "how": f"{len(first)} libraries and programs are equal in two folders"}


if __name__ == "__main__":
    outcome.end_with(body)
