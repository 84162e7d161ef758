#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shoal as a part of projects that have compiler flags of their own, built as the preset `minimal` has it. Each project configures,
builds, trains ten steps, and passes the tests of tests/package that run programs. Nothing of Shoal is written outside of its own
binary folder, and the flags of a configuration that the project has chosen stay."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import outcome
from commands import run

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PROJECT = """cmake_minimum_required(VERSION 3.25)
project(host LANGUAGES CXX)
{settings}
enable_testing()
set(SHOAL_TESTS ON)
set(SHOAL_EXAMPLES ON)
add_subdirectory(shoal)
add_executable(host host.cc)
target_link_libraries(host PRIVATE shoal::estimator)
"""
PROGRAMS = ("first_program", "tutorial_program", "lineage_program", "own_op_program", "own_optimizer_program", "mnist", "shoal_program")
# The rest of tests/package compiles Shoal once more, in a way of its own that knows nothing of this project.
TESTS = ("first_program", "readme_commands", "tutorial", "lineage", "own_op", "own_optimizer")
FLAGS = {
    "fast-math": "-ffast-math",
    "ofast": "-Ofast",
    "finite-math-only": "-ffinite-math-only -funsafe-math-optimizations",
    "no-exceptions": "-fno-exceptions",
    "no-rtti": "-fno-rtti",
    "os": "-Os",
    "unsigned-char": "-funsigned-char",
    "hidden": "-fvisibility=hidden",
    "short-enums": "-fshort-enums",
}
SETTINGS = {
    "shared-libs": "set(BUILD_SHARED_LIBS ON)",
    "cxx23": "set(CMAKE_CXX_STANDARD 23)\nset(CMAKE_CXX_STANDARD_REQUIRED ON)",
    "lto": "set(CMAKE_INTERPROCEDURAL_OPTIMIZATION ON)",
    "own-release": 'set(CMAKE_CXX_FLAGS_RELEASE "-O1 -DNDEBUG -DOF_THE_HOST")',
    "min-size": "set(CMAKE_BUILD_TYPE MinSizeRel)",
}


def variants():
    for name, flags in FLAGS.items():
        yield name, f'set(CMAKE_CXX_FLAGS "${{CMAKE_CXX_FLAGS}} {flags}")'
    yield from SETTINGS.items()


def check_commands(name, build):
    """The flags of the configuration are the host's, and loops over numbers are compiled to be fast."""
    commands = json.loads((build / "compile_commands.json").read_text())
    for entry in commands:
        if name == "own-release" and "-DOF_THE_HOST" not in entry["command"]:
            raise AssertionError(f"the flags of the host's own Release are gone: {entry['command']}")
    loops = [entry["command"].split() for entry in commands if "/backends/reference/" in entry["file"]]
    if not loops:
        raise AssertionError("no kernels are compiled")
    for words in loops:
        levels = [word for word in words if word.startswith("-O")]
        if not levels or levels[-1] != "-O3":
            raise AssertionError(f"kernels are compiled with {levels}")


def outside(build):
    """Files that neither CMake nor the host has put into the binary folder."""
    known = ("shoal", "CMakeFiles", "CMakeCache.txt", "build.ninja", "cmake_install.cmake", "compile_commands.json", "host",
             "log", ".ninja_deps", ".ninja_log", "CTestTestfile.cmake", "Testing")
    return sorted(path.name for path in build.iterdir() if path.name not in known)


def build_and_run(name, settings, folder):
    folder.mkdir()
    (folder / "shoal").symlink_to(ROOT)
    shutil.copy(HERE / "build_flags" / "host.cc", folder)
    (folder / "CMakeLists.txt").write_text(PROJECT.format(settings=settings))
    build = folder / "build"
    options = ["-DCMAKE_BUILD_TYPE=Release", "-DSHOAL_ONEDNN=OFF", "-DSHOAL_TLS=OFF", "-DSHOAL_HEADERS_ALONE=OFF",
               "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"]
    if shutil.which("ccache"):
        options.append("-DCMAKE_CXX_COMPILER_LAUNCHER=ccache")
    run("cmake", "-S", str(folder), "-B", str(build), "-G", "Ninja", *options)
    check_commands(name, build)
    run("cmake", "--build", str(build), "--target", "host", *PROGRAMS)
    if left := outside(build):
        raise AssertionError(f"files outside of Shoal's binary folder: {left}")
    said = run(str(build / "host"), str(folder))
    if "all is right" not in said:
        raise AssertionError(said)
    said = run("ctest", "--test-dir", str(build), "--output-on-failure", "--no-tests=error", "-R", f"^package[.]({'|'.join(TESTS)})$")
    if f"100% tests passed, 0 tests failed out of {len(TESTS)}" not in said:
        raise AssertionError(said[-4000:])


def body():
    outcome.needs({"cmake": "cmake", "ninja": "ninja-build"})
    begun = time.monotonic()
    chosen = os.environ.get("SHOAL_TEST_BUILD_FLAGS", "").split()
    wrong, right = [], []
    for name, settings in variants():
        if chosen and name not in chosen:
            continue
        with tempfile.TemporaryDirectory(prefix="shoal-flags-") as temporary:
            try:
                start = time.monotonic()
                build_and_run(name, settings, pathlib.Path(temporary) / "project")
                right.append(name)
                print(f"{name}: right after {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
            except (AssertionError, subprocess.TimeoutExpired) as error:
                wrong.append(f"{name}: {error}")
                print(f"wrong: {wrong[-1]}", file=sys.stderr, flush=True)
    if wrong or not right:
        raise AssertionError("\n".join(wrong) or "there is no such flag")
    return {"seconds": time.monotonic() - begun, "how": "builds and trains with " + ", ".join(right)}


if __name__ == "__main__":
    outcome.end_with(body)
