#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the program of docs/coming-from-tf-estimator.md, and looks whether the names that the page gives are there.

usage: run_lineage.py ROOT PROGRAM
"""
import os
import pathlib
import subprocess
import sys
import tempfile

from readme import SECONDS_MAX, names_in, words_of_headers


def main(root, program):
    root = pathlib.Path(root)
    words = words_of_headers(root)
    names = list(names_in(root / "docs" / "coming-from-tf-estimator.md"))
    missing = [name for name in names if name not in words]
    print(f"{len(names)} names, missing in the public headers: {missing}")
    if missing or len(names) < 60:
        sys.exit("the page names what is not there, or hardly anything")
    environment = {key: value for key, value in os.environ.items() if key not in ("TF_CONFIG", "SHOAL_DATA")}
    with tempfile.TemporaryDirectory() as folder:
        ended = subprocess.run([program, "--model-dir", folder], env=environment, text=True, stdout=subprocess.PIPE,
                               timeout=SECONDS_MAX, check=True)
    print(ended.stdout)
    lines = ended.stdout.splitlines()
    accuracy = float(next(line.split()[1] for line in lines if line.startswith("accuracy ")))
    if len(lines) < 4 or accuracy < 0.9:
        sys.exit("it did not learn which coordinate is larger")


main(*sys.argv[1:])
