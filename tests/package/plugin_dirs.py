#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""SHOAL_PLUGIN_DIRS, configured only: which folders are taken, in which order, where files are generated, and the sentence with which
each mistake ends the configuration.

usage: plugin_dirs.py ROOT CMAKE COMPILER FOLDER        FOLDER is made anew
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT, CMAKE, COMPILER, FOLDER = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3], pathlib.Path(sys.argv[4])
QUICK = ["-DCMAKE_BUILD_TYPE=Debug", *(f"-DSHOAL_{part}=OFF" for part in ("ONEDNN", "TCP", "SHM", "TESTS", "EXAMPLES"))]
GOOD = "shoal_plugin({} {} SOURCES {}.cc)\n"
# What a CMakeLists.txt says, and the sentence that it ends with. {at} is the call as the sentence names it.
REFUSED = {
    "shoal_plugin(engine mine SOURCES mine.cc)": '"engine" is no kind of plug-in; write backend or transport there.',
    "shoal_plugin(backend my-own SOURCES mine.cc)": '"my-own" cannot be a part of the factory\'s name, make_my-own_backend(); choose a',
    "shoal_plugin(transport 7up! SOURCES mine.cc)": '"7up!" cannot be a part of the factory\'s name',
    "shoal_plugin(transport My_own SOURCES mine.cc)": "has small letters and digits only; choose such a name.",
    "shoal_plugin(backend mine)": "there are no SOURCES; name the files that define make_mine_backend().",
    "shoal_plugin(backend mine SOURCE mine.cc)": "there are no SOURCES",
    "shoal_plugin(backend mine mine.cc SOURCES mine.cc)": '"mine.cc" is not expected; there are SOURCES, PRIORITY, DEPENDS and LIBRARIES.',
    "shoal_plugin(backend mine SOURCES mine.cc PRIORITY high)": 'PRIORITY "high" is no whole number',
    "shoal_plugin(backend mine SOURCES mine.cc DEPENDS nn)": 'DEPENDS names "nn", which is no module that a backend can use',
    "shoal_plugin(backend reference SOURCES mine.cc)": "/shoal/backends/reference; choose another name.",
    "shoal_plugin(transport inproc SOURCES mine.cc)": "/shoal/transport/inproc; choose another name.",
    "shoal_plugin(transport sim SOURCES mine.cc)": "there is a transport of this name already, in Shoal itself; choose another name.",
    "message(STATUS nothing)": "registers nothing; call shoal_plugin(backend|transport <name> SOURCES ...) there, or leave the folder out.",
}


def plugin(name, text):
    """A folder of that name with such a CMakeLists.txt."""
    folder = FOLDER / name
    folder.mkdir(parents=True)
    (folder / "CMakeLists.txt").write_text(text + "\n")
    for source in re.findall(r"\w+\.cc", text):
        (folder / source).write_text("")
    return folder


def configure(source, build, folders):
    """The status, and what CMake says in one line, as it breaks lines where it likes."""
    ended = subprocess.run([CMAKE, "-S", str(source), "-B", str(build), "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={COMPILER}", *QUICK,
                            f"-DSHOAL_PLUGIN_DIRS={';'.join(map(str, folders))}"], text=True, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, check=False)
    return ended.returncode, " ".join(ended.stdout.split())


def expect_refusal(project, folders, sentence):
    status, said = configure(project, FOLDER / f"build_{project.name}", folders)
    if status == 0 or " ".join(sentence.split()) not in said:
        sys.exit(f"{folders}: status {status}, expected: {sentence}\n{said}")
    print("refused:", sentence)


def names_in(table, kind):
    return re.findall(rf'\{{"(\w+)", &make_\w+_{kind}\}}', table.read_text())


def write_project(name, after=""):
    project = FOLDER / name
    project.mkdir()
    (project / "shoal").symlink_to(ROOT)
    (project / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.25)\nproject(host LANGUAGES CXX)\n"
                                            "add_subdirectory(shoal)\n" + after)
    return project


def check_taken(project):
    fast, slow = plugin("fast", GOOD.format("backend", "fast", "fast").replace(")", " PRIORITY 0)")), plugin(
        "slow", GOOD.format("backend", "slow", "slow") + GOOD.format("transport", "pigeon", "pigeon"))
    by_itself = FOLDER / "by_itself"
    tables = {}
    # Shoal by itself, and as a part of another project; a path from the folder of the outer project.
    for source, build, table in ((ROOT, by_itself, by_itself / "plugins.cc"),
                                 (project, FOLDER / "embedded", FOLDER / "embedded" / "shoal" / "plugins.cc")):
        status, said = configure(source, build, [slow, os.path.relpath(fast, source.resolve()), f"{slow}/"])
        if status != 0:
            sys.exit(said)
        tables[source] = names_in(table, "backend"), names_in(table, "transport")
        if tables[source][0] != ["fast", "portable", "reference", "slow"] or tables[source][1] != ["inproc", "pigeon"]:
            sys.exit(f"{table} has {tables[source]}")
    for folder in (fast, slow):
        if strays := [path.name for path in folder.iterdir() if path.suffix not in (".cc", ".txt")]:
            sys.exit(f"{folder} got {strays}")
    known = {"shoal", "CMakeFiles", "CMakeCache.txt", "build.ninja", "cmake_install.cmake", "compile_commands.json"}
    if strays := {path.name for path in (FOLDER / "embedded").iterdir()} - known:
        sys.exit(f"the binary folder of the outer project got {strays}")
    status, said = configure(ROOT, by_itself, [])
    if status != 0 or names_in(by_itself / "plugins.cc", "backend") != ["portable", "reference"]:
        sys.exit("a folder that is named no more stays in the table")


def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    project = write_project("project")
    check_taken(project)
    for number, (text, sentence) in enumerate(REFUSED.items()):
        folder = plugin(f"refused_{number}", text)
        expect_refusal(project, [folder], sentence)
        if text.startswith("shoal_plugin"):
            expect = f"{folder}/CMakeLists.txt: shoal_plugin({' '.join(re.split('[( )]', text)[1:3])})"
            expect_refusal(project, [folder], expect)
    expect_refusal(project, [FOLDER / "nowhere"], f"SHOAL_PLUGIN_DIRS: there is no folder {FOLDER}/nowhere; name folders")
    (FOLDER / "bare").mkdir()
    expect_refusal(project, [FOLDER / "bare"], f"SHOAL_PLUGIN_DIRS: {FOLDER}/bare has no CMakeLists.txt; write one")
    twins = [plugin(name, GOOD.format("transport", "twin", "twin")) for name in ("one", "other")]
    expect_refusal(project, twins, f"there is a transport of this name already, in {twins[0]}; choose another name.")
    late = plugin("late", GOOD.format("backend", "late", "late"))
    expect_refusal(write_project("too_late", f"add_subdirectory({late} late)\n"), [],
                   f"Shoal's table of plug-ins is complete already, so nobody would find this one; name {late} in SHOAL_PLUGIN_DIRS")


main()
