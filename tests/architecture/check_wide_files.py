#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files that are compiled for an instruction set of their own define nothing that another file may define, too: of inline functions
and templates the linker keeps one copy, and a processor without those instructions would end at it.

    check_wide_files.py OBJECTS    with semicolons between them; those named products_avx* are looked at"""
import subprocess
import sys

SHARED = "WVuw"  # Letters of nm(1) for what may be defined more than once.


def breaches(objects):
    listed = subprocess.run(["nm", "-A", "-C", "--defined-only", *objects], check=True, capture_output=True, text=True).stdout
    for line in listed.splitlines():
        place, _, symbol = line.partition(":")
        kind, name = symbol.split(maxsplit=2)[-2:] if len(symbol.split(maxsplit=2)) == 3 else symbol.split(maxsplit=1)
        if kind in SHARED:
            yield f"{place}: {name}: other files may define it, too; put it into an anonymous namespace, or inline it always"


def main():
    objects = [name for name in sys.argv[1].split(";") if "/products_avx" in name]
    if not objects:
        print("no object of the name products_avx* was given", file=sys.stderr)
        return 1
    found = list(breaches(objects))
    print("\n".join([*found, f"{len(found)} shared definitions in {len(objects)} files"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
