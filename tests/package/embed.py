#!/usr/bin/env python3
"""Shoal as part of another project, as the README shows it: configures that project, builds a small program on it, runs it,
and compiles (but does not link) the README's program. Then tests of programs as whole clusters, as
docs/how-to/test-a-program.md shows them: the page's own, and that of the example, as a user would copy it; and the programs of
docs/how-to/own-op.md and own-optimizer.md, which bring an op and an optimizer of their own: a synchronous cluster of threads ends with
the bits of --replicas. And the project
of docs/tutorial.md is configured: it has the targets that the page builds, where the page finds them.

usage: embed.py ROOT CMAKE COMPILER FOLDER        FOLDER is made anew
"""
import pathlib
import shutil
import subprocess
import sys

from readme import code_blocks


# A unity build of Shoal, since a cluster takes all of it: half of the time is reading headers.
CMAKE_START = """cmake_minimum_required(VERSION 3.25)
project(rings LANGUAGES CXX)
set(CMAKE_UNITY_BUILD ON)
set(CMAKE_UNITY_BUILD_BATCH_SIZE 10)
"""
OWN = ("own_op", "own_optimizer")
CMAKE_END = """
set(CMAKE_UNITY_BUILD OFF)
set_target_properties(rings program_test PROPERTIES UNITY_BUILD OFF)
foreach(own own_op own_optimizer)
  add_executable(${own} ${own}.cc)
  target_link_libraries(${own} PRIVATE shoal::estimator)
endforeach()
add_executable(small small.cc)
target_link_libraries(small PRIVATE shoal::backends)
add_executable(mnist_test mnist/cluster_test.cc mnist/digits.cc mnist/glyphs.cc mnist/images.cc mnist/model.cc)
target_link_libraries(mnist_test PRIVATE shoal::testing GTest::gtest_main)
"""


def write_project(root, folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "shoal").symlink_to(root)
    page = root / "docs" / "how-to" / "test-a-program.md"
    (folder / "rings.cc").write_text("\n".join(code_blocks(root / "README.md", "cpp")))
    (folder / "program_test.cc").write_text("\n".join(code_blocks(page, "cpp")))
    for own in OWN:
        (folder / f"{own}.cc").write_text(
            "\n".join(code_blocks(root / "docs" / "how-to" / (own.replace("_", "-") + ".md"), "cpp")))
    for file in (root / "tests" / "package" / "embedded").iterdir():
        shutil.copy(file, folder)
    shutil.copytree(root / "examples" / "mnist", folder / "mnist")
    (folder / "CMakeLists.txt").write_text(
        CMAKE_START + "\n".join(code_blocks(root / "README.md", "cmake") + code_blocks(page, "cmake")) + CMAKE_END)


def write_tutorial(root, folder):
    folder.mkdir()
    (folder / "shoal").symlink_to(root)
    page = root / "docs" / "tutorial.md"
    (folder / "flats.cc").write_text("\n".join(code_blocks(page, "cpp")))
    (folder / "CMakeLists.txt").write_text("\n".join(code_blocks(page, "cmake")))


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
write_tutorial(root, folder / "flats")
run(cmake, "-S", str(folder / "flats"), "-B", str(folder / "flats" / "build"), "-G", "Ninja",
    f"-DCMAKE_CXX_COMPILER={compiler}", "-DCMAKE_BUILD_TYPE=Release")
targets = run("ninja", "-C", str(folder / "flats" / "build"), "-t", "targets", "all")
for wanted in ("flats:", "shoal_program:", "shoal/bin/shoal:"):
    if "\n" + wanted not in targets:
        sys.exit(f"the tutorial's project has no {wanted}")
targets = run("ninja", "-C", str(build), "-t", "targets", "all")
for unwanted in ("mnist:", "base_tests:", "shoal_base_headers:"):
    if "\n" + unwanted in targets:
        sys.exit(f"an embedding project gets {unwanted} too: tests and examples are for those who work on Shoal")
run(cmake, "--build", str(build), "--target", "small", "program_test", "mnist_test", *OWN,
    "CMakeFiles/rings.dir/rings.cc.o")
answer = run(str(build / "small")).strip()
if answer != "reference: 1 4 9":
    sys.exit(f"small said: {answer}")
for test in ("program_test", "mnist_test"):
    answer = run(str(build / test))
    if "[  PASSED  ] 1 test." not in answer:
        sys.exit(f"{test} said: {answer}")
for own in OWN:
    predictions = []
    for number, how in enumerate((["--replicas", "3"], ["--cluster", "ps:2,worker:2,evaluator", "--strategy", "sync"])):
        model_dir = folder / f"{own}_{number}"
        run(str(build / own), "--model-dir", str(model_dir), "--seed", "7", "--steps", "30", *how)
        export = max((model_dir / "export" / "last").iterdir())
        predictions.append(run(str(build / own), "--load", str(export), "--quiet"))
    if predictions[0] != predictions[1]:
        sys.exit(f"{own}: replicas and cluster differ: {predictions}")
