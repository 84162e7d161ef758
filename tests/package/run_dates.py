#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does what docs/how-to/dates-and-words.md says: its table is made, its program trains and predicts, and names a row that is wrong.

usage: run_dates.py ROOT PROGRAM
"""
import csv
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from readme import SECONDS_MAX, code_blocks, execute_block


def main(root, program):
    blocks = code_blocks(pathlib.Path(root) / "docs" / "how-to" / "dates-and-words.md", "sh")
    if len(blocks) != 2:
        sys.exit(f"{len(blocks)} blocks would be run; did the page change?")
    environment = {key: value for key, value in os.environ.items() if key not in ("TF_CONFIG", "SHOAL_DATA")}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "build").mkdir()
        (folder / "build" / "sales").symlink_to(program)
        for block in blocks:
            said = execute_block(block, folder, environment)
        with open(folder / "sales.csv", "a", encoding="utf-8") as table:
            table.write("2000,2026-02-30,red,5,no\n")
        refused = subprocess.run(["build/sales", "--model-dir", "m2", "--steps", "1"], cwd=folder, env=environment, text=True,
                                 capture_output=True, timeout=SECONDS_MAX, check=False)
    accuracy = re.search(r"^Evaluated at global step 2000: accuracy ([0-9.]+),", said, re.MULTILINE)
    if not accuracy or float(accuracy[1]) < 0.95:
        sys.exit("it did not learn what is sold: of dates and words it has too little")
    lines = said.splitlines()
    rows = list(csv.DictReader(lines[[",probabilities/0," in line for line in lines].index(True):]))
    if [row["classes"] for row in rows] != ["yes", "yes", "no"]:
        sys.exit(f"other predictions than expected: {rows}")
    wrong = 'sales.csv, line 2002: the function of map: "2026-02-30" is no day of the calendar, written as 2026-03-09\n'
    if refused.returncode != 4 or not refused.stderr.endswith(wrong):
        sys.exit(f"status {refused.returncode} for a row with a wrong date, and it said:\n{refused.stderr}")


main(*sys.argv[1:])
