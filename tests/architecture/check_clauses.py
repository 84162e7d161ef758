#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sources say a rule in words where it is used: they name no clause of a document that is not in the repository.

usage: check_clauses.py ROOT

Tests may name clauses, as names of what they check.
"""
import pathlib
import re
import sys

FOLDERS = ("modules", "backends", "transport", "examples")
PREFIXES = ("CL|CK|DS|EV|EST|FA|SY|HK|LO|EX|RC|CH|HD|RU|TS|LA|GS|EVT|ES|DI|WO|TL|PSV|PS|OE|IP|DNN|TE|SC|MA|LS|JE|FC|AS|WND|NS|LIN|IN|"
            "OPT|CN|BS|BAS")
CLAUSE = re.compile(rf"\bCONTRACT\b|\b(?:{PREFIXES})-\d+\b")


def breaches(name, text):
    for number, line in enumerate(text.splitlines(), 1):
        if found := CLAUSE.search(line):
            yield f"{name}:{number}: names {found.group(0)}; say the rule in words"


def problems(root):
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".h", ".cc", ".fbs", ".cmake") or path.name == "CMakeLists.txt":
                yield from breaches(path.relative_to(root), path.read_text(encoding="utf-8"))


if __name__ == "__main__":
    found = list(problems(pathlib.Path(sys.argv[1])))
    print("\n".join(found) or "sources name no clause")
    sys.exit(bool(found))
