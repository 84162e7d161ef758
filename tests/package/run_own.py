#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the program of docs/how-to/own-op.md or own-optimizer.md: a synchronous cluster of processes ends with the bits of
--replicas, its export predicts what the export of that one does, and the program learns what it should.

usage: run_own.py PROGRAM SHOAL TRANSPORT...
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from readme import SECONDS_MAX

ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in ("TF_CONFIG", "SHOAL_DATA")}
STEPS = 60
FLAGS = ["--seed", "7", "--steps", str(STEPS)]


def run(*command, status=0):
    ended = subprocess.run([str(word) for word in command], env=ENVIRONMENT, text=True, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, timeout=SECONDS_MAX, check=False)
    if ended.returncode != status:
        sys.exit(f"{command}: status {ended.returncode}\n{ended.stdout}\n{ended.stderr}")
    return ended.stdout if status == 0 else ended.stderr


def values_of(shoal, model_dir):
    """All variables of the last checkpoint, slots too, with their values, each of which JSON has in all of its digits."""
    prefix = model_dir / f"model.ckpt-{STEPS}"
    names = [variable["name"] for variable in json.loads(run(shoal, "checkpoint", "show", prefix))["variables"]]
    values = [word for name in names for word in ("--values", name)]
    return json.loads(run(shoal, "checkpoint", "show", prefix, *values))["values"]


def export_of(model_dir):
    return max((model_dir / "export" / "last").iterdir())


def main(program, shoal, *transports):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        alone = folder / "alone"
        run(program, "--model-dir", alone, *FLAGS, "--replicas", "3")
        expected, predicted = values_of(shoal, alone), run(program, "--load", export_of(alone))
        print(f"{len(expected)} variables; predictions {predicted.split()}")
        if len(expected) < 4 or not predicted.split() or not transports:
            sys.exit("there is nothing to compare")
        for transport in transports:
            together = folder / transport
            run(shoal, "launch", "--no-logs", "--ps", "2", "--workers", "2", "--evaluator", "--", program, "--model-dir", together,
                *FLAGS, "--strategy", "sync", "--transport", transport)
            if values_of(shoal, together) != expected:
                sys.exit(f"over {transport} the variables differ from those of --replicas 3")
            if run(program, "--load", export_of(together)) != predicted:
                sys.exit(f"the export of the cluster over {transport} predicts something else")
            print(f"over {transport}: the same bits, and the same predictions")
        if "own_op_program" in program:
            shown = json.loads(run(shoal, "export", "show", export_of(alone)))
            print(shown)
            lacking = [(op["name"], op["version"]) for op in shown["lacking_ops"]]
            if lacking != [("my_bend", 1), ("my_round", 1)] or len(shown["variables"]) != 4 or "predictions" not in str(shown):
                sys.exit("the program shoal does not show what the export has, and which ops it itself lacks")
            table = folder / "rows.csv"
            table.write_text("x\n1\n")
            said = run(shoal, "predict", export_of(alone), table, status=2)
            print(said)
            if said.count("\n") != 1 or 'there is no op "my_bend"' not in said or "load_exported_model()" not in said:
                sys.exit("the program shoal, which has no such op, does not say so in one sentence")
        learned = json.loads(run(program, "--model-dir", folder / "learned", "--json").splitlines()[-1])
        print(learned)
        if learned["average_loss"] > 0.3 or ("accuracy" in learned and learned["accuracy"] < 0.9):
            sys.exit("it did not learn what it should")


main(*sys.argv[1:])
