#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hostile CSV files have the fields that Python's csv module reads in them, or are refused with a sentence."""
import pathlib
import sys
import time

import outcome
from job import program

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "data"))
import hostile_csv  # noqa: E402

FILES = 200_000
SEED = 45


def body():
    begun = time.monotonic()
    seen = hostile_csv.compare(program("csv_fields")[0], FILES, SEED)
    seconds = time.monotonic() - begun
    return {"seconds": seconds, "how": f"{FILES} CSV files, {seen['accepted']} of them accepted with the fields of Python's csv"}


if __name__ == "__main__":
    outcome.end_with(body)
