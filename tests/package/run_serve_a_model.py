#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does what docs/how-to/serve-a-model.md says, and compares what comes out.

usage: run_serve_a_model.py PAGE POINTS SERVE SHOAL
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

EXPECTED = ["high", "low"]


def run(*command, folder):
    ended = subprocess.run([str(word) for word in command], text=True, capture_output=True, timeout=120, check=False, cwd=folder)
    if ended.returncode != 0:
        sys.exit(f"{command}: {ended.stdout}{ended.stderr}")
    return ended.stdout


def main(page, points, serve, shoal):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        run(points, "--quiet", "--seed", "1", "--model-dir", folder / "m", folder=folder)
        newest = max((folder / "m/export/best").iterdir())
        if run(serve, newest, folder=folder).split() != EXPECTED:
            sys.exit("the program of the page predicts something else")
        proven = max((folder / "m/export/onnx").iterdir())
        proof = json.loads((proven / "proof.json").read_text())
        if proof["examples"] < 256 or not (proven / "model.onnx").exists():
            sys.exit(f"the proof is {proof}")
        run(shoal, "export", "onnx", "m/export/best", "-o", "points.onnx", folder=folder)
        script = re.search("```python\n(.*?)```", pathlib.Path(page).read_text(encoding="utf-8"), re.S).group(1)
        python = "/usr/bin/python3"  # Debian's, which has Debian's packages.
        found = subprocess.run([python, "-c", "import numpy, onnxruntime"], capture_output=True, check=False)
        if found.returncode != 0:
            print("there is no onnxruntime for Python; its part of the page was not run")
        elif run(python, "-c", script, folder=folder).strip() != str(EXPECTED):
            sys.exit("onnxruntime predicts something else")


if __name__ == "__main__":
    main(*sys.argv[1:])
