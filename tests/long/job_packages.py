#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Debian packages of Shoal, with a static library and with a shared one: they are built, lintian finds nothing to warn of, each has
the licences of what is compiled in, and a program that finds Shoal in what they hold does what docs/tutorial.md says. They are
unpacked, not installed, so that the machine stays as it is."""
import gzip
import os
import pathlib
import re
import shutil
import sys
import tempfile
import time

import outcome
from commands import run

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.append(str(ROOT / "tests" / "package"))
from readme import code_blocks  # noqa: E402

PROJECT = """cmake_minimum_required(VERSION 3.25)
project(flats LANGUAGES CXX)
find_package(Shoal CONFIG REQUIRED COMPONENTS estimator testing tools)
add_executable(flats flats.cc)
target_link_libraries(flats PRIVATE shoal::estimator)
"""
VERSION = re.search(r"VERSION (\d+\.\d+)", (ROOT / "CMakeLists.txt").read_text().split("project(shoal", 1)[1]).group(1)
PACKAGES = {"OFF": ["libshoal-dev", "shoal-tools"], "ON": ["libshoal-dev", f"libshoal{VERSION}", "shoal-tools"]}


def packages(folder, shared):
    build = folder / f"build_{shared}"
    options = ["-DCMAKE_BUILD_TYPE=Release", "-DSHOAL_TESTS=OFF", "-DSHOAL_EXAMPLES=OFF", f"-DBUILD_SHARED_LIBS={shared}",
               "-DCMAKE_INSTALL_PREFIX=/usr",
               "-DCMAKE_UNITY_BUILD=ON", "-DCMAKE_UNITY_BUILD_BATCH_SIZE=10"]
    if shutil.which("ccache"):
        options.append("-DCMAKE_CXX_COMPILER_LAUNCHER=ccache")
    run("cmake", "-S", ROOT, "-B", build, "-G", "Ninja", *options)
    run("cmake", "--build", build)
    run("cpack", cwd=build)
    found = sorted((build / "packages").glob("*.deb"))
    names = [path.name.split("_")[0] for path in found]
    if names != PACKAGES[shared]:
        raise AssertionError(f"packages {names}, expected {PACKAGES[shared]}")
    run("lintian", "--fail-on", "error,warning", *found)
    return found


def check_documents(system, names):
    """What has to come with a package, in the folder that they were unpacked to."""
    for name in names:
        texts = gzip.decompress((system / "usr" / "share" / "doc" / name / "third-party-licences.gz").read_bytes()).decode()
        for package in ("libflatbuffers-dev", "nlohmann-json3-dev", "libxxhash-dev"):
            if f"\n{package} (headers only)" not in texts:
                raise AssertionError(f"the licences in {name} lack {package}, whose headers are compiled in")
    if ".TH SHOAL 1" not in gzip.decompress((system / "usr/share/man/man1/shoal.1.gz").read_bytes()).decode():
        raise AssertionError("the packages have no manual page of shoal")


def do_the_tutorial(folder, shared, found):
    system, user = folder / f"system_{shared}", folder / f"user_{shared}"
    for path in found:
        run("dpkg-deb", "-x", path, system)
    check_documents(system, PACKAGES[shared])
    user.mkdir()
    (user / "CMakeLists.txt").write_text(PROJECT)
    (user / "flats.cc").write_text("\n".join(code_blocks(ROOT / "docs" / "tutorial.md", "cpp")))
    run("cmake", "-S", user, "-B", user / "build", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={system}/usr")
    run("cmake", "--build", user / "build")
    libraries = next((system / "usr" / "lib").rglob("libshoal*.*")).parent
    run(sys.executable, "-B", ROOT / "tests" / "package" / "run_tutorial.py", ROOT, user / "build" / "flats", system / "usr" / "bin" / "shoal",
        env={**os.environ, "LD_LIBRARY_PATH": str(libraries)})


def body():
    outcome.needs({"cmake": "cmake", "cpack": "cmake", "ninja": "ninja-build", "lintian": "lintian", "dpkg-shlibdeps": "dpkg-dev"})
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="shoal-packages-") as temporary:
        for shared in PACKAGES:
            do_the_tutorial(pathlib.Path(temporary), shared, packages(pathlib.Path(temporary), shared))
    return {"seconds": time.monotonic() - begun, "how": "packages with a static and a shared library do what the tutorial says"}


if __name__ == "__main__":
    outcome.end_with(body)
