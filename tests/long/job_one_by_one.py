#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each source compiles alone, without a warning. The usual builds compile ten sources together (a unity build), so a source that
forgets an include can use that of its neighbour there, and fails in a build that compiles sources one by one."""
import pathlib
import re
import shutil
import subprocess
import tempfile
import time

import outcome

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
OPTIONS = ["-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O0", "-DCMAKE_UNITY_BUILD=OFF", "-DSHOAL_WERROR=ON", "-DSHOAL_BENCH=ON",
           "-DSHOAL_HEADERS_ALONE=OFF"]
SECONDS_MAX = 6600


def run(*words):
    """What the command prints. An error has the compilers' errors alone."""
    ended = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=SECONDS_MAX, check=False)
    if ended.returncode:
        errors = re.findall(r"^.*error: .*$", ended.stdout, re.MULTILINE)
        raise AssertionError("\n".join(errors) or ended.stdout[-4000:])
    return ended.stdout


def body():
    outcome.needs({"cmake": "cmake", "ninja": "ninja-build"})
    begun = time.monotonic()
    launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    with tempfile.TemporaryDirectory(prefix="shoal-one-by-one-") as temporary:
        run("cmake", "-S", str(ROOT), "-B", temporary, "-G", "Ninja", *OPTIONS, *launcher)
        said = run("cmake", "--build", temporary, "--", "-k", "0", "-v")
    sources = len(set(re.findall(r" -c (\S+[.]cc)\b", said)))
    if sources < 1000:
        raise AssertionError(f"only {sources} sources were compiled")
    return {"seconds": time.monotonic() - begun, "how": f"{sources} sources compile one by one"}


if __name__ == "__main__":
    outcome.end_with(body)
