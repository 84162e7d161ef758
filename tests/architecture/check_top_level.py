#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The top level of the tree is fixed: a file or folder that a tool left there does not come into a commit unseen.

usage: check_top_level.py ROOT        prints every other name and ends with status 1 if there is one
"""
from end_with import end_with

FOLDERS = {"backends", "bench", "docs", "examples", "modules", "tests", "toolchains", "transport"}
FILES = {"CHANGELOG.md", "CMakeLists.txt", "CMakePresets.json", "LICENSE", "README.md", "dev"}
PASSED_OVER = (".", "build")  # Names that begin so: .git and other dot files, builds.


def breaches(root):
    for path in sorted(root.iterdir()):
        known = FOLDERS if path.is_dir() else FILES
        if path.name not in known and not path.name.startswith(PASSED_OVER):
            yield f"{path.name}: does not belong to the top level; move it, or add it here"


if __name__ == "__main__":
    end_with(breaches)
