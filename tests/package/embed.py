#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shoal as part of another project, as docs/first-program.md shows it: configures that project, builds a small program on it, runs it,
and compiles (but does not link) that page's program. Then tests of programs as whole clusters, as
docs/how-to/test-a-program.md shows them: the page's own, and that of the example, as a user would copy it; and the programs of
docs/how-to/own-op.md and own-optimizer.md, which bring an op and an optimizer of their own: a synchronous cluster of threads ends with
the bits of --replicas. The program of docs/how-to/embed.md, which brings its own log, storage and environment, says what the page
says. The backend of own-backend.md and the transport of own-transport.md are SHOAL_PLUGIN_DIRS of this project; their tests and
benchmarks run, and Shoal's conformance suites over them. And the project
of docs/tutorial.md is configured: it has the targets that the page builds, where the page finds them.

usage: embed.py ROOT CMAKE COMPILER FOLDER        FOLDER is made anew
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys

from quick_build import OPTIONS
from readme import code_blocks, write_files
from run_embed import check_host


CMAKE_START = """cmake_minimum_required(VERSION 3.25)
project(rings LANGUAGES CXX)
set(SHOAL_PLUGIN_DIRS courier ${CMAKE_CURRENT_SOURCE_DIR}/tally)  # A path from here, and an absolute one.
"""
OWN = ("own_op", "own_optimizer")
PLUGINS = {"own-backend": "tally", "own-transport": "courier"}
SUITES = ("backends_suite", "transports_suite")
CMAKE_END = """
set(CMAKE_UNITY_BUILD OFF)
set_target_properties(rings program_test PROPERTIES UNITY_BUILD OFF)
foreach(own own_op own_optimizer)
  add_executable(${own} ${own}.cc)
  target_link_libraries(${own} PRIVATE shoal::estimator)
endforeach()
add_executable(host host.cc)
target_link_libraries(host PRIVATE shoal::estimator)
add_executable(small small.cc)
target_link_libraries(small PRIVATE shoal::backends)
add_executable(mnist_test mnist/cluster_test.cc mnist/digits.cc mnist/glyphs.cc mnist/images.cc mnist/model.cc)
target_link_libraries(mnist_test PRIVATE shoal::testing GTest::gtest_main)

# The programs bring their parts by themselves, too: they compile without SHOAL_PLUGIN_DIRS.
add_executable(curve curve.cc tally/tally.cc)
add_executable(line line.cc courier/courier.cc)
target_link_libraries(curve PRIVATE shoal::estimator)
target_link_libraries(line PRIVATE shoal::estimator)
# Shoal's suites, as they are.
set(tests shoal/tests)
file(GLOB cases ${tests}/conformance/op_cases*.cc)
add_executable(backends_suite ${tests}/conformance/backend_test.cc ${cases})
target_link_libraries(backends_suite PRIVATE shoal::backends GTest::gmock_main)
add_executable(transports_suite ${tests}/transport/conformance_closing_test.cc ${tests}/transport/conformance_meeting_test.cc
  ${tests}/transport/conformance_traffic_test.cc ${tests}/transport/test_authority.cc ${tests}/transport/two_tasks.cc)
target_compile_definitions(transports_suite PRIVATE SHOAL_TEST_TLS=0 SHOAL_TEST_EMULATOR="")
target_link_libraries(transports_suite PRIVATE shoal::transport shoal_transport_sim GTest::gmock_main)
"""


def write_project(root, folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "shoal").symlink_to(root)
    page = root / "docs" / "how-to" / "test-a-program.md"
    (folder / "rings.cc").write_text("\n".join(code_blocks(root / "docs" / "first-program.md", "cpp")))
    (folder / "program_test.cc").write_text("\n".join(code_blocks(page, "cpp")))
    for own in OWN:
        (folder / f"{own}.cc").write_text(
            "\n".join(code_blocks(root / "docs" / "how-to" / (own.replace("_", "-") + ".md"), "cpp")))
    plugins = [root / "docs" / "how-to" / f"{page}.md" for page in PLUGINS]
    for plugin_page in plugins:
        write_files(plugin_page, folder)
    of_plugins = "\n".join(block for page in plugins for block in code_blocks(page, "cmake") if "find_package(benchmark" in block)
    # Google Benchmark is not among what the build needs.
    of_plugins = re.sub(r"^(\w+\(\w+_bench .*\))$", r"if(benchmark_FOUND)\n\1\nendif()", of_plugins, flags=re.MULTILINE)
    of_plugins = of_plugins.replace("find_package(benchmark REQUIRED)", "find_package(benchmark)")
    (folder / "host.cc").write_text("\n".join(code_blocks(root / "docs" / "how-to" / "embed.md", "cpp")))
    for file in (root / "tests" / "package" / "embedded").iterdir():
        shutil.copy(file, folder)
    shutil.copytree(root / "examples" / "mnist", folder / "mnist")
    (folder / "CMakeLists.txt").write_text(
        CMAKE_START + "\n".join(code_blocks(root / "docs" / "first-program.md", "cmake") + code_blocks(page, "cmake")) + CMAKE_END + of_plugins)


def check_plugins(build, folder, benches):
    """The tests of the two pages, their benchmarks for a moment, and the suites; then trainings by the two programs."""
    table = (build / "shoal" / "plugins.cc").read_text()
    for plugin in PLUGINS.values():
        if f'{{"{plugin}", &make_{plugin}_' not in table:
            sys.exit(f"the table of plug-ins lacks {plugin}:\n{table}")
        if "[  PASSED  ]" not in run(str(build / f"{plugin}_test")):
            sys.exit(f"{plugin}_test did not pass")
    for bench in benches:
        print(run(str(build / bench), "--benchmark_min_time=0.01"))
    for suite, plugin in zip(SUITES, PLUGINS.values()):
        # Finite differences take long without optimisation, and are none of the build's business.
        answer = run(str(build / suite), f"--gtest_filter=*/{plugin}*-*FiniteDifferences*", "--gtest_brief=1")
        print(answer)
        if "[  PASSED  ]" not in answer or "SKIPPED" in answer:
            sys.exit(f"{suite} did not run for {plugin}")
    sync = ["--cluster", "ps:2,worker:2,evaluator", "--strategy", "sync", "--transport"]
    for program, flags in (("curve", ["--backend", "tally"]), ("line", [])):
        losses = set()
        for number, how in enumerate((["--replicas", "3"], [*sync, "courier"], [*sync, "inproc"])):
            said = run(str(build / program), "--model-dir", str(folder / f"{program}_{number}"), "--seed", "7", "--steps", "40",
                       "--json", "--quiet", *flags, *how)
            losses.add(json.loads(said.splitlines()[-1])["loss"])
        if len(losses) != 1:
            sys.exit(f"{program}: replicas, threads over courier and threads over inproc differ: {losses}")


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
options = list(OPTIONS)
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
benches = [f"{plugin}_bench" for plugin in PLUGINS.values() if f"\n{plugin}_bench:" in targets]
if not benches:
    print("there is no Google Benchmark here: the benchmarks of the pages are left out")
run(cmake, "--build", str(build), "--target", "small", "host", "program_test", "mnist_test", *OWN, "curve", "line",
    *(f"{plugin}_test" for plugin in PLUGINS.values()), *benches, *SUITES,
    "CMakeFiles/rings.dir/rings.cc.o")
answer = run(str(build / "small")).strip()
if answer != "portable: 1 4 9":
    sys.exit(f"small said: {answer}")
check_host(root / "docs" / "how-to" / "embed.md", str(build / "host"))
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
check_plugins(build, folder, benches)
