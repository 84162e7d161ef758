#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does what docs/tutorial.md says, in its order: its table is made, its program trains, the export predicts.

usage: run_tutorial.py ROOT PROGRAM SHOAL

Commands that fetch or build Shoal are not executed; the page's project is built by package.add_subdirectory.
"""
import csv
import json
import os
import pathlib
import sys
import tempfile

from readme import code_blocks, execute_block

NOT_RUN = ("git clone", "cmake -S")


def main(root, program, shoal):
    page = pathlib.Path(root) / "docs" / "tutorial.md"
    blocks = code_blocks(page, "sh")
    run = [block for block in blocks if not any(start in block for start in NOT_RUN)]
    if len(blocks) - len(run) != len(NOT_RUN) or len(run) < 5:
        sys.exit(f"{len(run)} of {len(blocks)} blocks would be run; did the page change?")
    environment = {key: value for key, value in os.environ.items() if key not in ("TF_CONFIG", "SHOAL_DATA")}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "build" / "shoal" / "bin").mkdir(parents=True)
        (folder / "build" / "flats").symlink_to(program)
        (folder / "build" / "shoal" / "bin" / "shoal").symlink_to(shoal)
        said = [execute_block(block, folder, environment) for block in run]
        evaluations = execute_block("build/shoal/bin/shoal events m/eval", folder, environment).splitlines()
        clusters = execute_block("build/shoal/bin/shoal events m2/eval", folder, environment).splitlines()
        with open(folder / "predictions.csv", newline="", encoding="utf-8") as file:
            predictions = list(csv.DictReader(file))
    for what, lines in (("alone", evaluations), ("as a cluster", clusters)):
        accuracy = [entry for entry in map(json.loads, lines) if entry.get("tag") == "accuracy"][-1]
        print(what, accuracy)
        if accuracy["value"] < 0.85:
            sys.exit(f"{what} it did not learn which flats are let")
    shown = [line.split(",")[-1] for line in code_blocks(page, "text")[0].splitlines()[1:]]
    if [row["classes"] for row in predictions] != shown or [row["id"] for row in predictions] != ["A1", "A2", "B7"]:
        sys.exit(f"the page shows other predictions than {predictions}")
    if json.loads(said[-2].splitlines()[-1])["classes"] != ["yes"]:
        sys.exit(f"the row of the pipe has another prediction: {said[-2]}")


main(*sys.argv[1:])
