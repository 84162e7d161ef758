# SPDX-License-Identifier: Apache-2.0
"""The program `arithmetic`, and what it has to print: one hash for each model and number of steps, on every machine."""
import pathlib
import re
import subprocess
import tempfile

SEED, BATCH = "7", "8"
RECORDED = pathlib.Path(__file__).resolve().parent / "recorded.txt"
SECONDS_MAX = 3600  # of one run, under an emulator on a busy machine
HASH = re.compile(r"^hash of step (\d+): ([0-9a-f]{16}) of", re.MULTILINE)


def recorded():
    """{(model, steps): hash}"""
    rows = (line.split() for line in RECORDED.read_text().splitlines() if line and not line.startswith("#"))
    return {(model, int(steps)): value for model, steps, value in rows}


def run(program, model, steps, *options, folder=None):
    """What a training of so many steps prints, in a folder of its own unless one is given, where it goes on."""
    with tempfile.TemporaryDirectory() as own:
        words = [*program, "--model", model, "--backend", "portable", "--seed", SEED, "--batch", BATCH, "--steps", str(steps),
                 "--model-dir", str(folder or own), *options]
        ended = subprocess.run(words, capture_output=True, text=True, check=False, timeout=SECONDS_MAX)
    found = dict(HASH.findall(ended.stdout))
    if ended.returncode != 0 or str(steps) not in found:
        raise AssertionError(f"{' '.join(words)}: status {ended.returncode}\n{ended.stdout}{ended.stderr[-3000:]}")
    return found[str(steps)]
