# SPDX-License-Identifier: Apache-2.0
"""The program of docs/how-to/embed.md: it prints what the page says, nothing on standard error, and writes no file.

usage: run_embed.py PAGE PROGRAM
"""
import os
import pathlib
import subprocess
import sys
import tempfile

from readme import SECONDS_MAX, code_blocks


def check_host(page, program):
    with tempfile.TemporaryDirectory() as folder:
        temporary = pathlib.Path(folder) / "tmp"
        here = pathlib.Path(folder) / "here"
        temporary.mkdir()
        here.mkdir()
        ended = subprocess.run([program], cwd=here, env={**os.environ, "TMPDIR": str(temporary)}, text=True,
                               capture_output=True, timeout=SECONDS_MAX, check=False)
        written = [str(path) for path in pathlib.Path(folder).rglob("*") if path not in (here, temporary)]
    if ended.returncode != 0 or ended.stderr:
        sys.exit(f"status {ended.returncode}, and on standard error: {ended.stderr}")
    (expected,) = code_blocks(page, "text")
    if ended.stdout != expected:
        sys.exit(f"{page} says\n{expected}and the program\n{ended.stdout}")
    if written:
        sys.exit(f"the program has written {written}")


if __name__ == "__main__":
    check_host(*sys.argv[1:])
