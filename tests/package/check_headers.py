#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Users compile with the warnings that they like: the public headers, and programs that use them, give none.

usage: check_headers.py ROOT COMPILER

Compiles all public headers (that each compiles alone is checked by the build: SHOAL_HEADERS_ALONE), the programs of docs/first-program.md,
tutorial and the page for those who know tf.estimator, the examples, and what docs/how-to and docs/errors.md show of programs
(a head, a hook, an exporter of their own, sequences, shared layers, early stopping), with -Wall -Wextra -Wpedantic and warnings
as errors, and looks at whether shoal/shoal.h has what it says.
Ends with status 1 and what the compiler says if one fails, with 77 if there is no such compiler.
"""
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

OPTIONS = ["-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]

# Pages that show code, which takes no more than shoal/shoal.h.
HOW_TO = ["docs/errors.md", *(f"docs/how-to/{what}.md" for what in ("add-a-head", "add-a-hook", "add-an-exporter", "sequences",
                                                                    "share-layers", "stop-early"))]
# Pages with a whole program.
PROGRAMS = ["docs/first-program.md", "docs/tutorial.md", "docs/coming-from-tf-estimator.md"]
# Modules of which shoal/shoal.h includes all headers but these.
WHOLE = ["nn", "data", "estimator"]
LEFT_OUT = {
    "shoal/data/array_rows.h",        # for code that looks at files of arrays without a dataset
    "shoal/data/file_format.h",       # for code that looks at files of any kind
    "shoal/data/iterator.h",          # for code that walks through a dataset by itself
    "shoal/estimator/export_names.h", # for code that walks through folders of exports
    "shoal/estimator/program_commands.h", # for shoal::tools, which gives programs their commands
    "shoal/estimator/task_host.h",    # for tests, and for programs that lend a task their own process
    "shoal/estimator/tensor_file.h",  # for the command that shows what is in such a file
    "shoal/nn/apply_update.h",        # for those who apply updates
    "shoal/nn/update_rule.h",         # the same
    "shoal/nn/value_map.h",           # comes with what uses it
    "shoal/nn/window.h",              # the same
}


def include_folders(root):
    return sorted([*root.glob("modules/*/include"), root / "backends/include", root / "transport/include"])


def public_headers(folders):
    return sorted(path.relative_to(folder).as_posix() for folder in folders for path in folder.rglob("*.h"))


def missing_in_whole(root, headers):
    text = (root / "modules/estimator/include/shoal/shoal.h").read_text()
    named = set(re.findall(r'^#include "(\S+)"', text, re.MULTILINE))
    wanted = {name for name in headers if name.split("/")[1] in WHOLE} - LEFT_OUT
    return sorted(wanted - named)


def precompile(compiler, folders, into):
    """What has programs take shoal/shoal.h as it was read once, here: reading it is nearly all that they cost."""
    header, output = into / "all.h", into / "all.h.gch"
    header.write_text('#include "shoal/shoal.h"\n')
    subprocess.run([compiler, *(f"-I{folder}" for folder in folders), *OPTIONS, "-x", "c++-header", header, "-o", output],
                   check=True)
    return ["-include-pch", output] if "clang" in pathlib.Path(compiler).name else ["-include", header]


def compile_text(compiler, folders, text, before=()):
    """What the compiler says; empty: nothing."""
    command = [compiler, *before, *(f"-I{folder}" for folder in folders), *OPTIONS, "-fsyntax-only", "-x", "c++", "-"]
    done = subprocess.run(command, input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.stdout if done.returncode else ""


def program_in(root, page):
    return subprocess.run([sys.executable, "-B", root / "tests/package/readme.py", root / page, "cpp"],
                          stdout=subprocess.PIPE, check=True, text=True).stdout


def main(root, compiler):
    if not shutil.which(compiler):
        print(f"skipped: there is no {compiler} here")
        return 77
    folders = include_folders(root)
    headers = public_headers(folders)
    if len(headers) < 100:
        sys.exit(f"only {len(headers)} public headers were found; did the folders move?")
    lacking = missing_in_whole(root, headers)
    for name in lacking:
        print(f"shoal/shoal.h does not include {name}; if a program can do without it, say so in {sys.argv[0]}")
    texts = {page: program_in(root, page) for page in PROGRAMS}
    for page in HOW_TO:
        texts[page] = '#include "shoal/shoal.h"\n' + program_in(root, page)
    for path in sorted(root.glob("examples/*/*.cc")):
        if not path.name.endswith("_test.cc"):
            texts[path.relative_to(root).as_posix()] = f'#include "{path}"\n'
    folders = [*folders, *root.glob("examples/*/")]
    all_headers = "".join(f'#include "{name}"\n' for name in headers)
    with tempfile.TemporaryDirectory(prefix="shoal-headers-") as temporary, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        of_headers = pool.submit(compile_text, compiler, folders, all_headers)
        before = precompile(compiler, folders, pathlib.Path(temporary))
        said = list(pool.map(lambda text: compile_text(compiler, folders, text, before), texts.values()))
        said.append(of_headers.result())
    failed = [(name, output) for name, output in zip([*texts, "the public headers"], said) if output]
    for name, output in failed:
        print(f"{name}, by {compiler}:\n{output}")
    print(f"{len(headers)} headers and {len(texts)} programs or parts of some: {len(failed)} not without a warning")
    return 1 if failed or lacking else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]), sys.argv[2]))
