#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shoal as it is installed, in a folder that was moved after that: found by find_package, with components, and by pkg-config; without
a network, and without flatc. No installed file names the tree or the build, and public headers need no headers of others.

usage: installed.py ROOT BUILD CMAKE COMPILER FOLDER        FOLDER is made anew
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

from readme import code_blocks

PROJECT = """cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES CXX)
find_package(Shoal 0.1 CONFIG REQUIRED COMPONENTS estimator testing tools)
add_executable(rings rings.cc)
target_link_libraries(rings PRIVATE shoal::estimator)
add_executable(worlds worlds.cc)
target_link_libraries(worlds PRIVATE shoal::testing)
add_executable(numbers numbers.cc)
target_link_libraries(numbers PRIVATE shoal::nn shoal::data)
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


def offline():
    """What goes before a command that is to have no network: nothing, where this user may not take it away."""
    command = ["unshare", "--net", "--map-root-user"]
    return command if subprocess.run([*command, "true"], check=False, capture_output=True).returncode == 0 else []


def check_files(installed, *folders):
    """Texts name no folder of the machine that built them, headers none of other libraries."""
    headers = 0
    for path in installed.rglob("*"):
        if not path.is_file() or path.suffix not in (".h", ".cmake", ".pc"):
            continue
        text = path.read_text()
        for folder in folders:
            if str(folder) in text:
                sys.exit(f"{path} names {folder}")
        headers += path.suffix == ".h"
        if path.suffix == ".h" and (found := OTHERS.search(text)):
            sys.exit(f"{path} includes {found.group()}")
    if headers < 100:
        sys.exit(f"only {headers} headers are installed")


def main():
    root, build, cmake, compiler, folder = sys.argv[1:]
    root, build, folder = pathlib.Path(root), pathlib.Path(build), pathlib.Path(folder)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    run(cmake, "--install", build, "--prefix", folder / "first")
    installed = folder / "moved"
    (folder / "first").rename(installed)
    check_files(installed, root, build, folder)

    user = folder / "user"
    user.mkdir()
    (user / "CMakeLists.txt").write_text(PROJECT)
    (user / "rings.cc").write_text("\n".join(code_blocks(root / "README.md", "cpp")))
    (user / "worlds.cc").write_text(WORLDS)
    (user / "numbers.cc").write_text(NUMBERS)
    environment = tools_without_flatc(folder / "tools")
    configure = [cmake, "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={compiler}", f"-DCMAKE_PREFIX_PATH={installed}"]
    run(*offline(), *configure, "-S", user, "-B", folder / "build", env=environment)
    run(*offline(), cmake, "--build", folder / "build", env=environment)
    for program in ("worlds", "numbers"):
        run(folder / "build" / program)
    tool = pathlib.Path((folder / "build" / "tool.txt").read_text())
    if installed not in tool.parents or "launch" not in run(tool, "--help"):
        sys.exit(f"shoal::program is {tool}")

    # The same program by pkg-config, and trained.
    found = subprocess.run(["pkg-config", "--cflags", "--libs", "shoal"], stdout=subprocess.PIPE, text=True, check=True,
                           env={**os.environ, "PKG_CONFIG_PATH": str(next(installed.rglob("shoal.pc")).parent)}).stdout.split()
    run(compiler, "-std=c++20", user / "rings.cc", "-o", folder / "rings", *found, env=environment)
    paths = {**os.environ, "LD_LIBRARY_PATH": str(next(installed.rglob("libshoal.*")).parent)}
    for program in (folder / "rings", folder / "build" / "rings"):
        model = folder / f"model_of_{program.parent.name}"
        said = run(program, "--steps", 20, "--model-dir", model, env=paths)
        if not (model / "model.ckpt-20.index").exists() and not list(model.glob("model.ckpt-20*")):
            sys.exit(f"{program} has written no checkpoint of step 20:\n{said}")

    (user / "CMakeLists.txt").write_text(UNKNOWN)
    said = " ".join(run(*configure, "-S", user, "-B", folder / "unknown", right=False).split())
    if 'Shoal has no component "gpu"; there are estimator, testing and tools.' not in said:
        sys.exit(f"a component that is none is not told:\n{said}")


if __name__ == "__main__":
    main()
