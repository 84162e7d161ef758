#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails if a test skipped that is not on the list of those that may.

    check_skips.py <report> <list>

report: what ctest --output-junit writes (with --test-output-size-passed so large that no output is cut).
list:   one entry a line, `when | test | says | why`; lines that begin with # are comments.
          when   always; no-data: SHOAL_DATA names no folder; no-root: another user than root runs the tests;
                 no-cpu-flag:NAME: /proc/cpuinfo does not list that flag
          test   shell pattern of the test's name for ctest
          says   shell pattern of part of what the test says as it skips
          why    the reason for which that is no gap

A test that passes while some of its cases skip (a Python script, a program of many cases) counts as well. So does an entry
whose pattern is no test's name: what it excused is gone. Exit status: 0 fine, 1 not, 2 the report or the list is unreadable.
"""
import dataclasses
import fnmatch
import os
import re
import sys
import xml.etree.ElementTree

GTEST_SAYS = re.compile(r"^\S.*:\d+: Skipped$")
GTEST_COUNT = re.compile(r"^\[  SKIPPED \] (\d+) tests?[.,]", re.MULTILINE)
UNITTEST_CASE = re.compile(r"\.\.\. skipped (['\"])(.*)\1$", re.MULTILINE)
UNITTEST_COUNT = re.compile(r"^(?:OK|FAILED) \(.*?skipped=(\d+)", re.MULTILINE)


class Unreadable(Exception):
    pass


@dataclasses.dataclass(frozen=True)
class Entry:
    when: str
    test: str
    says: str
    why: str

    def excuses(self, name, reason, machine):
        return (fnmatch.fnmatchcase(name, self.test) and fnmatch.fnmatchcase(reason, f"*{self.says}*")
                and machine.is_so(self.when))


@dataclasses.dataclass(frozen=True)
class Machine:
    """What an entry's `when` may ask."""
    has_data: bool
    is_root: bool
    cpu_flags: frozenset

    @staticmethod
    def this():
        try:
            with open("/proc/cpuinfo") as file:
                flags = {flag for line in file if line.startswith(("flags", "Features")) for flag in line.split()}
        except OSError:
            flags = set()
        return Machine(os.path.isdir(os.environ.get("SHOAL_DATA", "")), os.geteuid() == 0, frozenset(flags))

    def is_so(self, when):
        if when == "always":
            return True
        if when == "no-data":
            return not self.has_data
        if when == "no-root":
            return not self.is_root
        if when.startswith("no-cpu-flag:"):
            return when.removeprefix("no-cpu-flag:") not in self.cpu_flags
        raise Unreadable(f"the list of skips knows no '{when}'")


def parse_entries(text):
    entries = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = [field.strip() for field in line.split("|")]
        if len(fields) != 4 or not all(fields):
            raise Unreadable(f"line {number} of the list of skips is not `when | test | says | why`: {line}")
        entries.append(Entry(*fields))
    return entries


def reasons_in(output):
    """What each case that skipped says; one without words says so itself."""
    lines = output.splitlines()
    reasons = [lines[i + 1] if i + 1 < len(lines) else "" for i, line in enumerate(lines) if GTEST_SAYS.match(line)]
    reasons += [match.group(2) for match in UNITTEST_CASE.finditer(output)]
    counted = sum(int(count) for pattern in (GTEST_COUNT, UNITTEST_COUNT) for count in pattern.findall(output))
    return reasons + ["(a case that gives no reason)"] * (counted - len(reasons))


def skips_of(case):
    """The reasons for which (part of) a test did not run."""
    output = case.findtext("system-out", "")
    status = case.get("status")
    if status == "disabled":
        return ["disabled"]
    skipped = case.find("skipped")
    message = "" if skipped is None else skipped.get("message", "")
    if status == "fail" or (status == "notrun" and not message.startswith("SKIP_")):
        return []  # it failed or could not be started, which ctest says
    reasons = reasons_in(output)
    if status == "run" or reasons:
        return reasons
    words = [line for line in output.splitlines() if "skipped" in line.lower()] or output.splitlines()
    return [words[0] if words else message]


def check(report, entries, machine):
    """Sentences about what is wrong, and the number of skips."""
    try:
        cases = list(xml.etree.ElementTree.fromstring(report).iter("testcase"))
    except xml.etree.ElementTree.ParseError as error:
        raise Unreadable(f"ctest's report: {error}") from error
    if not cases:
        raise Unreadable("ctest's report names no test")
    wrong, count = [], 0
    for case in cases:
        name = case.get("name")
        for reason in skips_of(case):
            count += 1
            if not any(entry.excuses(name, reason, machine) for entry in entries):
                wrong.append(f"{name} skipped: {reason}")
    for entry in entries:
        if not any(fnmatch.fnmatchcase(case.get("name"), entry.test) for case in cases):
            wrong.append(f"the list of skips has {entry.test}, but no test is called so")
    return wrong, count


def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError as error:
        raise Unreadable(str(error)) from error


def main(argv):
    if len(argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        wrong, count = check(read(argv[1]), parse_entries(read(argv[2])), Machine.this())
    except Unreadable as error:
        print(f"check_skips: {error}", file=sys.stderr)
        return 2
    for sentence in wrong:
        print(f"check_skips: {sentence}")
    print(f"check_skips: {count} skips; " + (f"{len(wrong)} faults, see above" if wrong else f"all are in {argv[2]}"))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
