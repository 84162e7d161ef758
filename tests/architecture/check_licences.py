#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each file that somebody wrote in a language with comments says its licence in its first two lines, so that a file that is
copied out of the tree takes it along. Texts, data, and configurations of tools are covered by LICENSE.

usage: check_licences.py ROOT        prints every file without it and ends with status 1 if there is one
"""
from end_with import end_with

LINE = "SPDX-License-Identifier: Apache-2.0"
SUFFIXES = (".cc", ".h", ".fbs", ".py", ".cmake", ".in", ".map")
PASSED_OVER = ("build", ".git", ".cache", "corpus")  # Folders whose name is so, or begins so.


def is_written(path):
    if path.suffix in SUFFIXES or path.name == "CMakeLists.txt":
        return True
    if path.suffix:
        return False
    with path.open("rb") as file:
        return file.read(2) == b"#!"


def files(root):
    for path in sorted(root.iterdir()):
        if path.is_symlink() or path.name.startswith(PASSED_OVER):
            continue
        if path.is_dir():
            yield from files(path)
        elif is_written(path):
            yield path


def breaches(root):
    for path in files(root):
        with path.open(encoding="utf-8") as file:
            first = file.readline() + file.readline()
        if LINE not in first:
            yield f"{path.relative_to(root)}:1: write \"{LINE}\" as a comment into the first line, or behind #!"


if __name__ == "__main__":
    end_with(breaches)
