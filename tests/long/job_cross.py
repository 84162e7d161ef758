# SPDX-License-Identifier: Apache-2.0
"""Shoal for 32-bit ARM and 64-bit RISC-V, static for x86-64, and by clang for 64-bit ARM, preset `edge`: its programs are built, and
its tests pass, under qemu-user where the target is not the machine itself. CI does the same by g++ for 64-bit ARM. The static
program for x86-64 trains LeNet-5 in 12 MiB.
SHOAL_TEST_TARGETS names other targets, with blanks between them; `-clang` behind one means that clang compiles."""
import os
import pathlib
import re
import sys
import time

import commands
import outcome

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TARGETS = os.environ.get("SHOAL_TEST_TARGETS", "armhf riscv64 amd64 arm64-clang").split()
PASSED = re.compile(r"100% tests passed, 0 tests failed out of (\d+)")


def body():
    outcome.needs({"dpkg": "dpkg", "apt-get": "apt"})
    begun, counts = time.monotonic(), []
    for target in TARGETS:
        architecture, _, compiler = target.partition("-")
        said = commands.run("./dev", "cross", architecture, "edge", *(["--clang"] if compiler == "clang" else []), cwd=ROOT)
        if architecture == "amd64":
            commands.run(sys.executable, "-B", ROOT / "tests/long/lenet5/resident_test.py", ROOT / f"build-{target}-edge/bin/tests/lenet5")
        counts.append(f"{PASSED.search(said).group(1)} tests of {target}")
    return {"seconds": time.monotonic() - begun, "how": ", ".join(counts)}


if __name__ == "__main__":
    outcome.end_with(body)
