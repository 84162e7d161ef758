#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table of docs/arithmetic.md names the ops that backends/portable and backends/onednn register, and no others.

    check_arithmetic.py ROOT"""
import pathlib
import re
import sys

REGISTERED = re.compile(r'^ +\{"(\w+)", &make_\w+\},$', re.MULTILINE)
ROW = re.compile(r"^\| (`.*?`) \|(.*?)\| (.*) \|$", re.MULTILINE)


def registered(root, backend):
    return set(REGISTERED.findall((root / "backends" / backend / "backend.cc").read_text()))


def documented(text):
    """Of each backend the ops that the table names for it, and ops that it names twice."""
    ops = {"portable": set(), "onednn": set()}
    twice = set()
    for names, onednn, portable in ROW.findall(text):
        for op in re.findall(r"`(\w+)`", names):
            twice |= {op} & (ops["portable"] | ops["onednn"])
            if onednn.strip():
                ops["onednn"].add(op)
            if portable.strip():
                ops["portable"].add(op)
    return ops, twice


def faults(root):
    ops, twice = documented((root / "docs" / "arithmetic.md").read_text())
    for op in sorted(twice):
        yield f"docs/arithmetic.md: two rows name `{op}`"
    for backend, named in ops.items():
        there = registered(root, backend)
        for op in sorted(there - named):
            yield f"docs/arithmetic.md: no row says that {backend} computes `{op}`, which backends/{backend}/backend.cc registers"
        for op in sorted(named - there):
            yield f"docs/arithmetic.md: a row says that {backend} computes `{op}`, which backends/{backend}/backend.cc does not register"
        if not there:
            yield f"backends/{backend}/backend.cc: no row of the table of makers was found"


def main():
    found = list(faults(pathlib.Path(sys.argv[1])))
    print("\n".join([*found, f"{len(found)} faults in the table of arithmetic"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
