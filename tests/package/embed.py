#!/usr/bin/env python3
"""Shoal as part of another project, as the README shows it: configures that project, builds a small program on it, runs it,
and compiles (but does not link, which would take all of Shoal) the README's program.

usage: embed.py ROOT CMAKE COMPILER FOLDER        FOLDER is made anew
"""
import pathlib
import shutil
import subprocess
import sys

from readme import code_blocks


def write_project(root, folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "shoal").symlink_to(root)
    (folder / "rings.cc").write_text("\n".join(code_blocks(root / "README.md", "cpp")))
    shutil.copy(root / "tests" / "package" / "embedded" / "small.cc", folder)
    (folder / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(rings LANGUAGES CXX)\n"
        + "\n".join(code_blocks(root / "README.md", "cmake"))
        + "add_executable(small small.cc)\ntarget_link_libraries(small PRIVATE shoal::backends)\n")


def run(*command):
    print("+", *command, flush=True)
    ended = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if ended.returncode != 0:
        sys.exit(ended.stdout + f"status {ended.returncode}")
    return ended.stdout


root, cmake, compiler, folder = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3], pathlib.Path(sys.argv[4])
build = folder / "build"
write_project(root, folder)
# Quick to build: no optimisation, and none of the plug-ins that can be left out.
options = ["-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O0", "-DSHOAL_ONEDNN=OFF", "-DSHOAL_SHM=OFF",
           "-DSHOAL_TCP=OFF"]
if shutil.which("ccache"):
    options.append("-DCMAKE_CXX_COMPILER_LAUNCHER=ccache")
run(cmake, "-S", str(folder), "-B", str(build), "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={compiler}", *options)
targets = run("ninja", "-C", str(build), "-t", "targets", "all")
for unwanted in ("mnist:", "base_tests:", "shoal_base_headers:"):
    if "\n" + unwanted in targets:
        sys.exit(f"an embedding project gets {unwanted} too: tests and examples are for those who work on Shoal")
run(cmake, "--build", str(build), "--target", "small", "CMakeFiles/rings.dir/rings.cc.o")
answer = run(str(next(build.rglob("small")))).strip()
if answer != "reference: 1 4 9":
    sys.exit(f"small said: {answer}")
