#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the program of docs/first-program.md alone and as a cluster of threads: it ends with status 0 and has learned what it should.

usage: run_program.py PROGRAM
"""
import json
import os
import subprocess
import sys
import tempfile

ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in ("TF_CONFIG", "SHOAL_DATA")}

SECONDS_MAX = 120 * int(os.environ.get("SHOAL_TEST_TIMEOUT_SCALE", "1"))


def train(program, *arguments):
    with tempfile.TemporaryDirectory() as folder:
        ended = subprocess.run([program, "--json", "--model-dir", folder, *arguments], env=ENVIRONMENT, text=True,
                               stdout=subprocess.PIPE, timeout=SECONDS_MAX, check=True)
        if not os.listdir(os.path.join(folder, "export", "best")):
            sys.exit("there is no export")
    return json.loads(ended.stdout.splitlines()[-1])


# Half of the points are in each ring. Three trainers at once learn less surely in as many steps than one.
for least, arguments in ((0.9, []), (0.75, ["--cluster", "ps:2,worker:2,evaluator", "--throttle-secs", "0"])):
    result = train(sys.argv[1], *arguments)
    print(arguments, result)
    if result["accuracy"] < least or result["global_step"] < 1000:
        sys.exit("it did not learn the rings")
