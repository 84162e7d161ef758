#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: cross.py ROOT FOLDER TARGET

Shoal is built for boards of another kind, TARGET, in FOLDER: preset `edge`, one static program for every role. The tests of base,
graph, backends and portable pass there under qemu-user, trainings have the hashes that were recorded (docs/arithmetic.md), one
of LeNet-5 has at most 12 MiB resident, and no library takes more of the program mnist than sizes_of_TARGET.txt allows.
Ends with status 77 where the compiler or the emulator is not installed.
"""
import os
import pathlib
import shutil
import subprocess
import sys

COMPILERS = {"arm64": ("aarch64-linux-gnu-g++", "qemu-aarch64-static", "g++-aarch64-linux-gnu qemu-user-static")}
FOLDERS = ("base", "graph", "backends", "portable")


def run(*command, **options):
    print("+", *command, flush=True)
    if subprocess.run([str(word) for word in command], check=False, **options).returncode != 0:
        raise SystemExit(f"cross.py: failed: {' '.join(str(word) for word in command)}")


def main():
    root, folder, target = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve(), sys.argv[3]
    *programs, packages = COMPILERS[target]
    if not all(shutil.which(program) for program in programs):
        print(f"skipped: install the Debian packages {packages}")
        return 77
    sysroots, build = folder / "sysroots", folder / f"{target}-edge"
    run(root / "toolchains/sysroot", target, env={**os.environ, "SHOAL_SYSROOTS": str(sysroots)})
    options = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    # With this setting ccache would name the sysroot by a relative path, and the compiler would not find it.
    os.environ.pop("CCACHE_BASEDIR", None)
    run("cmake", "--preset", "edge", "-S", root, "-B", build, "--toolchain", root / f"toolchains/{target}.cmake",
        f"-DSHOAL_SYSROOTS={sysroots}", "-DSHOAL_TEST_TIMEOUT_SCALE=20", *options)
    jobs = os.environ.get("SHOAL_JOBS") or str(os.cpu_count())
    run("cmake", "--build", build, "-j", jobs, "--target", "mnist", "arithmetic", "lenet5", *(f"{name}_tests" for name in FOLDERS))
    run(root / "toolchains/sizes", "--budget", root / f"tests/package/sizes_of_{target}.txt", build, "mnist")
    emulator = (programs[1], "-L", sysroots / target)
    run(sys.executable, "-B", root / "tests/long/arithmetic/recorded_test.py", build / "bin/tests/arithmetic", *emulator)
    run(sys.executable, "-B", root / "tests/long/lenet5/resident_test.py", build / "bin/tests/lenet5", *emulator)
    without = [line.partition(" | ")[0] for line in (root / "toolchains/not_emulated").read_text().splitlines() if not line.startswith("#")]
    run("ctest", "--test-dir", build, "-j", jobs, "--output-on-failure", "--no-tests=error", "--progress",
        "-R", rf"^({'|'.join(FOLDERS)})\.", "-E", "|".join(without))
    return 0


if __name__ == "__main__":
    sys.exit(main())
