#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/api.md lists the public API: each name of a row is in a header of that row, and each header of shoal.h has a row.

usage: check_api.py ROOT        prints every breach and ends with status 1 if there is one
"""
import pathlib
import re

from end_with import end_with

PAGE = pathlib.PurePath("docs/api.md")
ALL = "shoal/shoal.h"


def public_headers(root):
    """The path of each public header, by the name that a program includes."""
    folders = [*root.glob("modules/*/include"), root / "backends" / "include", root / "transport" / "include"]
    return {path.relative_to(folder).as_posix(): path for folder in folders for path in folder.rglob("*.h")}


def words_of(header):
    code = re.sub(r"//.*", "", header.read_text(encoding="utf-8"))
    return set(re.findall(r"\w+", code))


def in_backquotes(cell):
    return re.findall(r"`([^`]+)`", cell)


def rows(page):
    """(line, names, headers) of each row of the page's tables."""
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        if not line.startswith("|") or cells[-1] == "header" or set(line) <= set("| -"):
            continue
        yield number, in_backquotes(cells[1]) if len(cells) == 3 else [], in_backquotes(cells[-1])


def breaches(root):
    headers = public_headers(root)
    listed = set()
    for number, names, of_row in rows(root / PAGE):
        place = f"{PAGE}:{number}"
        if not names or not of_row:
            yield f"{place}: a row says what it is, names in backquotes, and their header in backquotes"
        missing = [header for header in of_row if header not in headers]
        yield from (f"{place}: there is no public header {header}" for header in missing)
        if missing:
            continue
        listed.update(of_row)
        words = set().union(*(words_of(headers[header]) for header in of_row))
        for name in names:
            if not words.issuperset(name.split("::")):
                yield f"{place}: {', '.join(of_row)} has no {name}"
    for header in re.findall(r'#include "(shoal/[^"]+)"', headers[ALL].read_text(encoding="utf-8")):
        if header not in listed:
            yield f"{PAGE}: {header} has no row, and a program that includes {ALL} has it"


if __name__ == "__main__":
    end_with(breaches)
