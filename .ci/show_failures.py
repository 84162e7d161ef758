#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the end of what each failing test said, since a record may keep the last lines of a run alone.

    show_failures.py <report>

report: what ctest --output-junit writes. Exit status: 0; 2: the report is unreadable.
"""
import sys
import xml.etree.ElementTree

LINES_OF_A_TEST = 15
TESTS_MAX = 4


def ends_of_failures(report):
    """One text for each of the first failing tests: its name and its last lines."""
    failing = [case for case in xml.etree.ElementTree.fromstring(report).iter("testcase") if case.get("status") == "fail"]
    texts = []
    for case in failing[:TESTS_MAX]:
        lines = [line for line in case.findtext("system-out", "").splitlines() if line.strip()]
        texts.append("\n".join([f"{case.get('name')} failed, and said last:", *lines[-LINES_OF_A_TEST:]]))
    return texts


def main(argv):
    if len(argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        with open(argv[1], encoding="utf-8", errors="replace") as file:
            texts = ends_of_failures(file.read())
    except (OSError, xml.etree.ElementTree.ParseError) as error:
        print(f"show_failures: {argv[1]}: {error}", file=sys.stderr)
        return 2
    for text in texts:
        print(text, end="\n\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
