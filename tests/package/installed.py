#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shoal as it is installed, in a folder that was moved after that: found by find_package, with components, by pkg-config, and by its
CPS files, without those of CMake (from CMake 4.3 on); without a network, and without flatc. No installed file names the tree or the
build, and public headers need no headers of others.

usage: installed.py ROOT BUILD CMAKE COMPILER FOLDER        FOLDER is made anew
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

from offline import without_network
from readme import code_blocks

PROGRAMS = """add_executable(rings rings.cc)
target_link_libraries(rings PRIVATE shoal::estimator)
add_executable(worlds worlds.cc)
target_link_libraries(worlds PRIVATE shoal::testing)
add_executable(numbers numbers.cc)
target_link_libraries(numbers PRIVATE shoal::nn shoal::data)
"""
PROJECT = """cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES CXX)
find_package(Shoal 0.1 CONFIG REQUIRED COMPONENTS estimator testing tools)
""" + PROGRAMS + """add_executable(launcher rings.cc)
target_link_libraries(launcher PRIVATE shoal::tools)
file(GENERATE OUTPUT tool.txt CONTENT "$<TARGET_FILE:shoal::program>")
"""
WORLDS = """#include "shoal/base/random.h"
#include "shoal/testing/world.h"
int main() {
  shoal::testing::World world({.seed = 1});
  return shoal::RandomStream(1).below(1) == 0 ? 0 : 1;
}
"""
NUMBERS = """#include "shoal/data/dataset.h"
#include "shoal/nn/dense.h"
int main() {
  int64_t sum = 0;
  for (const auto& element : shoal::data::Dataset::range(5).elements()) sum += element.features.single().as<int64_t>()[0];
  return sum == 10 ? 0 : 1;
}
"""
UNKNOWN = """cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES CXX)
find_package(Shoal CONFIG REQUIRED COMPONENTS estimator gpu)
"""
# What finds Shoal by its CPS files: the name of the package is that of the targets.
BY_CPS = """cmake_minimum_required(VERSION 4.3)
project(user LANGUAGES CXX)
find_package(shoal 0.1 REQUIRED COMPONENTS estimator testing)
""" + PROGRAMS
OTHERS = re.compile(r'#\s*include\s*[<"](boost|asio|flatbuffers|nlohmann|CLI|dnnl|oneapi|openssl|xxhash|protozero|zlib)', re.IGNORECASE)


def run(*command, right=True, **options):
    ended = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                           timeout=600, **options)
    if (ended.returncode == 0) != right:
        sys.exit(f"{' '.join(map(str, command))}: status {ended.returncode}\n{ended.stdout}")
    return ended.stdout


def tools_without_flatc(folder):
    """A PATH with all programs but flatc."""
    folder.mkdir()
    for place in ("/bin", "/usr/bin", "/usr/local/bin"):
        for program in pathlib.Path(place).iterdir():
            link = folder / program.name
            if program.name != "flatc" and not link.is_symlink():
                link.symlink_to(program)
    return {**os.environ, "PATH": str(folder)}


def check_files(installed, *folders):
    """Texts name no folder of the machine that built them, headers none of other libraries."""
    headers = 0
    for path in installed.rglob("*"):
        if not path.is_file() or path.suffix not in (".h", ".cmake", ".pc", ".cps"):
            continue
        text = path.read_text()
        for folder in folders:
            if re.search(rf"(?<![\w.])(-[IL])?{re.escape(str(folder))}(?![\w.-])", text):
                sys.exit(f"{path} names {folder}")
        headers += path.suffix == ".h"
        if path.suffix == ".h" and (found := OTHERS.search(text)):
            sys.exit(f"{path} includes {found.group()}")
    if headers < 100:
        sys.exit(f"only {headers} headers are installed")


def check_cps(installed):
    """The files are as CPS wants them, and what they name is there; for whoever has no CMake that reads them."""
    main, testing = (next(installed.rglob(name)) for name in ("shoal.cps", "shoal-testing.cps"))
    documents = {path: json.loads(path.read_text()) for path in (main, testing)}
    prefix = main.parent
    for _ in pathlib.PurePosixPath(documents[main]["cps_path"].removeprefix("@prefix@/")).parts:
        prefix = prefix.parent
    if prefix != installed or main.parent != testing.parent:
        sys.exit(f"cps_path of {main} leads to {prefix}, which is not {installed}")
    for path, document in documents.items():
        if document["name"] != "shoal" or not re.fullmatch(r"\d+\.\d+\.\d+", document["cps_version"]):
            sys.exit(f"{path} is of {document['name']}, CPS {document['cps_version']}")
        for name, component in document["components"].items():
            places = [component["location"], *component["includes"]] if component["type"] != "interface" else []
            if lost := [place for place in places if not pathlib.Path(place.replace("@prefix@", str(installed))).exists()]:
                sys.exit(f"{path}: {name} names {lost}, which is not installed")
    for wanted in ("shoal", "estimator", "base", "nn", "data", "transport"):
        if wanted not in documents[main]["components"]:
            sys.exit(f"{main} lacks {wanted}")


def use_by_cps(cmake, configure, installed, user, folder, environment):
    """Where CMake reads CPS files: the same programs, without the files of CMake."""
    shutil.rmtree(next(installed.rglob("ShoalConfig.cmake")).parent)
    (user / "CMakeLists.txt").write_text(BY_CPS)
    said = run(*without_network(), *configure, "-S", user, "-B", folder, env=environment)
    if "unknown type" in said:
        sys.exit(f"CMake does not understand all of the CPS files:\n{said}")
    run(*without_network(), cmake, "--build", folder, env=environment)
    for program in ("worlds", "numbers"):
        run(folder / program)


def main():
    root, build, cmake, compiler, folder = sys.argv[1:]
    root, build, folder = pathlib.Path(root), pathlib.Path(build), pathlib.Path(folder)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    run(cmake, "--install", build, "--prefix", folder / "first")
    installed = folder / "moved"
    (folder / "first").rename(installed)
    check_files(installed, root, build, folder)
    check_cps(installed)

    user = folder / "user"
    user.mkdir()
    (user / "CMakeLists.txt").write_text(PROJECT)
    (user / "rings.cc").write_text("\n".join(code_blocks(root / "docs" / "first-program.md", "cpp")))
    (user / "worlds.cc").write_text(WORLDS)
    (user / "numbers.cc").write_text(NUMBERS)
    environment = tools_without_flatc(folder / "tools")
    configure = [cmake, "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={compiler}", f"-DCMAKE_PREFIX_PATH={installed}"]
    run(*without_network(), *configure, "-S", user, "-B", folder / "build", env=environment)
    run(*without_network(), cmake, "--build", folder / "build", env=environment)
    for program in ("worlds", "numbers"):
        run(folder / "build" / program)
    tool = pathlib.Path((folder / "build" / "tool.txt").read_text())
    if installed not in tool.parents or "launch" not in run(tool, "--help"):
        sys.exit(f"shoal::program is {tool}")
    launcher = folder / "build" / "launcher"
    if f"{launcher} --steps 5\n" not in run(launcher, "launch", "--dry-run", "--", "--steps", "5"):
        sys.exit("a program that links shoal::tools is not its own launcher")
    commands = "Commands, in the place of flags"  # The help of a flag may mention the launcher, too.
    if commands not in run(launcher, "--help"):
        sys.exit(f"the help of a program that links shoal::tools says nothing of \"{commands}\"")
    if commands in run(folder / "build" / "rings", "--help"):
        sys.exit("a program that does not link shoal::tools has its commands")

    (user / "CMakeLists.txt").write_text(UNKNOWN)
    said = " ".join(run(*configure, "-S", user, "-B", folder / "unknown", right=False).split())
    if 'Shoal has no component "gpu"; there are estimator, testing and tools.' not in said:
        sys.exit(f"a component that is none is not told:\n{said}")

    # The same program by pkg-config, and by CPS, and trained.
    found = subprocess.run(["pkg-config", "--cflags", "--libs", "shoal"], stdout=subprocess.PIPE, text=True, check=True,
                           env={**os.environ, "PKG_CONFIG_PATH": str(next(installed.rglob("shoal.pc")).parent)}).stdout.split()
    run(compiler, "-std=c++20", user / "rings.cc", "-o", folder / "rings", *found, env=environment)
    programs = [folder / "rings", folder / "build" / "rings"]
    version = tuple(map(int, re.search(r"version (\d+)\.(\d+)", run(cmake, "--version")).groups()))
    if version >= (4, 3):
        use_by_cps(cmake, configure, installed, user, folder / "by_cps", environment)
        programs.append(folder / "by_cps" / "rings")
    else:
        print(f"CMake {'.'.join(map(str, version))} reads no CPS files: they are only looked at")
    paths = {**os.environ, "LD_LIBRARY_PATH": str(next(installed.rglob("libshoal.*")).parent)}
    for program in programs:
        model = folder / f"model_of_{program.parent.name}"
        said = run(program, "--steps", 20, "--model-dir", model, env=paths)
        if not (model / "model.ckpt-20.index").exists() and not list(model.glob("model.ckpt-20*")):
            sys.exit(f"{program} has written no checkpoint of step 20:\n{said}")


if __name__ == "__main__":
    main()
