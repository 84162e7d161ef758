#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The include of shoal/shoal.h stays cheap to compile (docs/decisions/light-headers.md), checked without a clock.

usage: check_header_cost.py FOLDER [COMPILER]     FOLDER: that of the project. Prints every breach and ends with status 1 if
                                                  there is one. COMPILER: c++, if none is named.

Three rules, for all headers of Shoal that shoal/shoal.h reaches. None of them includes a large header of the standard library
that its interface can do without: what the library's own headers include is not looked at, since that differs from release to
release. No class has a member that is dear to instantiate where a cheap one does (Hidden, Boxed, a struct in the source file).
And all of it, preprocessed, has at most so many lines more than the standard headers that the interface is made of.
"""
import pathlib
import re
import subprocess
import sys

ROOT = "shoal/shoal.h"
INCLUDE = re.compile(r'^\s*#\s*include\s+(?:<([^>]+)>|"([^"]+)")', re.MULTILINE)
DEAR_HEADERS = frozenset(
    "algorithm any chrono charconv condition_variable execution filesystem format forward_list fstream functional future iomanip iostream"
    " istream list locale memory_resource mutex numeric ostream queue random ranges regex set shared_mutex sstream stack stdexcept"
    " stop_token streambuf system_error thread tuple unordered_map unordered_set valarray".split())
# These two include the part that they are about, and the whole where a library has no such part.
MAY_INCLUDE = {("shoal/base/std_function.h", "functional"), ("shoal/base/time.h", "chrono"),
               ("shoal/estimator/model_fn.h", "tuple")}
DEAR_MEMBER = re.compile(r"^ +(?:mutable )?(?:const )?std::(unique_ptr|variant|set|unordered_\w+|mutex)<?[^()]*>? \w+(?: = [^()]*|\{\})?;",
                         re.MULTILINE)
# The rest of what the include costs is these, which no interface of values, names and callbacks can do without.
FLOOR = ("atomic", "coroutine", "cstdint", "deque", "map", "memory", "optional", "span", "string", "variant", "vector")
LINES_MAX = 9000


def include_folders(project):
    """The public include folders of the layers, as shoal/shoal.h needs them."""
    project = pathlib.Path(project)
    return sorted(project.glob("modules/*/include")) + [project / "backends/include", project / "transport/include"]


def reached(folders, root=ROOT):
    """The headers of Shoal that `root` includes, it among them: name and text, each once."""
    texts, waiting = {}, [root]
    while waiting:
        name = waiting.pop()
        if name in texts:
            continue
        path = next((folder / name for folder in folders if (folder / name).exists()), None)
        if path is None:
            raise FileNotFoundError(f"{name}: no include folder has it")
        texts[name] = path.read_text()
        waiting += [own for _, own in INCLUDE.findall(texts[name]) if own.startswith("shoal/")]
    return texts


def breaches_in(name, text):
    """Of the first two rules, in one header: sentences."""
    for standard, _ in INCLUDE.findall(text):
        if standard in DEAR_HEADERS and (name, standard) not in MAY_INCLUDE:
            yield f"{name}: includes <{standard}>, and every program pays for that; include it in the source file"
    for member in DEAR_MEMBER.finditer(text):
        line = text.count("\n", 0, member.start()) + 1
        yield f"{name}:{line}: a member is a std::{member[1]}; hide it in the source file (shoal/base/hidden.h, boxed.h)"


def lines_of(compiler, source, folders):
    """How many lines of code `source` has once it is preprocessed."""
    command = [compiler, "-std=c++20", *[f"-I{folder}" for folder in folders], "-E", "-P", "-x", "c++", "-"]
    ended = subprocess.run(command, input=source, stdout=subprocess.PIPE, text=True, check=True)
    return sum(1 for line in ended.stdout.splitlines() if line.strip())


def main(project, compiler="c++"):
    folders = include_folders(project)
    found = [breach for name, text in sorted(reached(folders).items()) for breach in breaches_in(name, text)]
    floor = "".join(f"#include <{header}>\n" for header in FLOOR)
    lines = lines_of(compiler, f'{floor}#include "{ROOT}"\n', folders) - lines_of(compiler, floor, folders)
    if lines > LINES_MAX:
        found.append(f"{ROOT}: {lines} lines beyond those of {', '.join(FLOOR)}, and {LINES_MAX} are accepted; "
                     "bench/include_cost measures, and clang's -ftime-trace tells where the time goes")
    for breach in found:
        print(breach)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
