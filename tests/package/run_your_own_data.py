#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the program of docs/how-to/your-own-data.md, and the commands of that page, on files that Python makes.

usage: run_your_own_data.py PAGE PROGRAM SHOAL MNIST
"""
import io
import json
import os
import pathlib
import struct
import subprocess
import sys
import tarfile
import tempfile
import zlib

from readme import code_blocks


def png(side):
    """A grey picture."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + bytes(range(side)) for _ in range(side))
    header = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def archive(path):
    with tarfile.open(path, "w") as tar:
        for number in range(3):
            for name, contents in ((f"{number}.png", png(9)), (f"{number}.cls", str(number).encode())):
                member = tarfile.TarInfo(name)
                member.size = len(contents)
                tar.addfile(member, io.BytesIO(contents))


def run_commands(page, folder, **programs):
    """Each command of the page, where `programs` are in PATH; what one says has to have a part that is named here."""
    said = {"describe a.csv": ["a.csv: csv, 2 records", '"x": float32, 1.5 to 2.5', "a.tar: tar, 3 records", "a.jsonl: json-lines, 2 records", "array: float32 [5, 3]"],
            "describe pictures": ['class "cat": 1', 'class "dog": 1'],
            "sample": ["record ", '"png": picture [9, 9, 3]'],
            "statistics": ["2 records", "mean 2, standard deviation 0.5"],
            "vocabulary": [""],
            "bench": ["elements/s", "slowest stage: ", "\nbatch "]}
    (folder / "bin").mkdir()
    for name, path in programs.items():
        (folder / "bin" / name).symlink_to(pathlib.Path(path).resolve())
    environment = {name: value for name, value in os.environ.items() if name != "SHOAL_DATA"}
    environment["PATH"] = f"{folder / 'bin'}:{environment['PATH']}"
    commands = [line for block in code_blocks(page, "sh") for line in block.splitlines()]
    for command in commands:
        ended = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, text=True, capture_output=True, timeout=120, check=False)
        expected = next((parts for begin, parts in said.items() if command.startswith(f"shoal data {begin}")), None)
        if expected is None:
            sys.exit(f"what should this say? {command}")
        if ended.returncode != 0 or not all(part in ended.stdout for part in expected):
            sys.exit(f"{command}: status {ended.returncode}: {ended.stdout}{ended.stderr}\nand not {expected}")
    if (folder / "names.txt").read_text() != "one\ntwo\n":
        sys.exit("names.txt is no vocabulary")
    if len(commands) < len(said):
        sys.exit(f"only {len(commands)} commands are found on the page")


def main(page, program, shoal, mnist):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "a.csv").write_text("x,name,label\n1.5,one,0\n2.5,two,1\n")
        for kind in ("cat", "dog"):
            (folder / "pictures" / kind).mkdir(parents=True)
            (folder / "pictures" / kind / "1.png").write_bytes(png(40))
        archive(folder / "a.tar")
        lines = [{"text": "one", "scores": [1, 2.5], "meta": {"label": 3}}, {"text": "two", "scores": [], "meta": {"label": 4}}]
        (folder / "a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (5, 3), }"
        header += b" " * (117 - len(header)) + b"\n"
        (folder / "a.npy").write_bytes(b"\x93NUMPY\x01\0" + struct.pack("<H", len(header)) + header + struct.pack("<15f", *range(15)))
        expected = {("csv", "a.csv"): ['feature "name": string []', 'feature "x": float32 []', "2 elements"],
                    ("pictures", "pictures"): ['feature "": uint8 [32, 32, 3]', "2 elements"],
                    ("tar", "a.tar"): ['feature "": uint8 [9, 9, 1]', "3 elements"],
                    ("json", "a.jsonl"): ['feature "scores": float32 [2]', 'feature "text": string []', "2 elements"],
                    ("numpy", "a.npy"): ['feature "": float32 [3]', "5 elements"]}
        expected["numbers", "1000"] = ['feature "": float32 []', "1000 elements"]
        for (kind, file), said in expected.items():
            ended = subprocess.run([program, kind, file], cwd=folder, text=True, capture_output=True, timeout=60, check=False)
            if ended.stdout.splitlines() != said:
                sys.exit(f"{kind}: {ended.stdout}{ended.stderr}\nand not {said}")
        ended = subprocess.run([program, "tfrecord", str(folder / "*.tfrecord")], text=True, capture_output=True, timeout=60, check=False)
        if ended.returncode != 1 or "*.tfrecord" not in ended.stderr:
            sys.exit(f"tfrecord: {ended.stdout}{ended.stderr}")
        run_commands(page, folder, shoal=shoal, mnist=mnist)


if __name__ == "__main__":
    main(*sys.argv[1:])
