#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two builds of one tree, in folders of different names and depths, are equal bit for bit: all that is installed, and the examples.
The hash (SHA-256) of each file is printed. SHOAL_TEST_REPRODUCIBLE names targets, with blanks between them, of which alone the
libraries and programs are built and compared; SHOAL_JOBS says how many compilers run at once."""
import hashlib
import os
import pathlib
import tempfile
import time

import outcome
from commands import copy_tree, run

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FOLDERS = ("a", "another/much/deeper/folder")


def made_by(folder, targets):
    """Folders of what two builds have to agree on: what is installed, and programs and libraries of the build."""
    copy_tree(ROOT, folder)
    build, installed = folder / "build", folder / "installed"
    # A compiler cache would give both builds the same files.
    environment = {key: value for key, value in os.environ.items() if not key.endswith("_COMPILER_LAUNCHER")} | {"CCACHE_DISABLE": "1"}
    run("cmake", "-S", folder, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DSHOAL_TESTS=OFF",
        "-DCMAKE_UNITY_BUILD=ON", "-DCMAKE_UNITY_BUILD_BATCH_SIZE=10", env=environment)
    chosen = ["--target", *targets] if targets else []
    run("cmake", "--build", build, "-j", os.environ.get("SHOAL_JOBS", str(os.cpu_count())), *chosen, env=environment)
    if not targets:
        run("cmake", "--install", build, "--prefix", installed, env=environment)
    return build, installed


def hashes(folder, targets):
    """{path: hash} of what is installed, of programs, and of libraries in the build."""
    build, installed = made_by(folder, targets)
    files = list(installed.rglob("*"))
    files += [path for path in build.rglob("*") if path.suffix == ".a" or path.parent.name == "bin"]
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(files) if path.is_file()}


def body():
    outcome.needs({"cmake": "cmake", "ninja": "ninja-build", "git": "git"})
    begun = time.monotonic()
    targets = os.environ.get("SHOAL_TEST_REPRODUCIBLE", "").split()
    with tempfile.TemporaryDirectory(prefix="shoal-twice-") as temporary:
        first, second = (hashes(pathlib.Path(temporary) / folder, targets) for folder in FOLDERS)
    if not first or first.keys() != second.keys():
        raise AssertionError(f"other files: {sorted(first.keys() ^ second.keys())}")
    for path, digest in first.items():
        print(digest, path if digest == second[path] else f"{path}, but {second[path]} in the other folder")
    for wanted in () if targets else ("installed/bin/shoal", "build/bin/mnist", "installed/lib"):
        if not any(path.startswith(wanted) for path in first):
            raise AssertionError(f"{wanted} is not among {sorted(first)}")
    if different := [path for path in first if first[path] != second[path]]:
        raise AssertionError(f"two builds differ in {', '.join(different)}")
    return {"seconds": time.monotonic() - begun, "how": f"{len(first)} files, all that is installed and the examples, are equal in two folders"}


if __name__ == "__main__":
    outcome.end_with(body)
