#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the program of docs/how-to/your-own-data.md on files that Python makes.

usage: run_your_own_data.py PROGRAM
"""
import io
import json
import pathlib
import struct
import subprocess
import sys
import tarfile
import tempfile
import zlib


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


def main(program):
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
        for (kind, file), said in expected.items():
            ended = subprocess.run([program, kind, str(folder / file)], text=True, capture_output=True, timeout=60, check=False)
            if ended.stdout.splitlines() != said:
                sys.exit(f"{kind}: {ended.stdout}{ended.stderr}\nand not {said}")
        ended = subprocess.run([program, "tfrecord", str(folder / "*.tfrecord")], text=True, capture_output=True, timeout=60, check=False)
        if ended.returncode != 1 or "*.tfrecord" not in ended.stderr:
            sys.exit(f"tfrecord: {ended.stdout}{ended.stderr}")


if __name__ == "__main__":
    main(*sys.argv[1:])
