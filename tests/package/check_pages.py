#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The first page stays short, shows code that a test runs, and lines of pages can be read in an editor.

usage: check_pages.py ROOT
"""
import pathlib
import re
import sys

README_WORDS_MAX = 700
LINE_MAX = 300


def blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def readme_problems(readme, first_program):
    """`first_program` is compiled and run by package.first_program, so the README may only show parts of it."""
    words = len(readme.split())
    if words > README_WORDS_MAX:
        yield f"README.md has {words} words, {README_WORDS_MAX} at most; move what only some readers want to a page in docs/"
    program = "".join(blocks(first_program, "cpp"))
    for block in blocks(readme, "cpp"):
        if block not in program:
            yield f"README.md shows code that docs/first-program.md does not have:\n{block}"


def line_problems(name, text):
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > LINE_MAX:
            yield f"{name}:{number}: this line has {len(line)} characters, {LINE_MAX} at most"


def problems(root):
    readme, first = root / "README.md", root / "docs" / "first-program.md"
    yield from readme_problems(readme.read_text(encoding="utf-8"), first.read_text(encoding="utf-8"))
    for page in sorted([readme, *root.glob("docs/**/*.md")]):
        yield from line_problems(page.relative_to(root), page.read_text(encoding="utf-8"))


if __name__ == "__main__":
    found = list(problems(pathlib.Path(sys.argv[1])))
    print("\n".join(found) or "README.md is short, its code is run by a test, and no page has a long line")
    sys.exit(bool(found))
