#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the program of docs/how-to/from-pytorch.md or from-keras.md, from random weights and from a file of weights, and looks
whether the names that the page gives are there.

usage: run_coming_from.py ROOT PAGE PROGRAM
"""
import io
import json
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import zipfile

from readme import SECONDS_MAX, names_in, words_of_headers


def npy(descr, shape, values):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {tuple(shape)}, }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return (b"\x93NUMPY\x01\0" + struct.pack("<H", len(header)) + header
            + struct.pack(f"<{len(values)}{'f' if descr == '<f4' else 'q'}", *values))


def npz(path, arrays):
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            archive.writestr(name + ".npy", npy(*array))


def safetensors(path, arrays):
    header, data = {}, io.BytesIO()
    for name, (_, shape, values) in arrays.items():
        begin = data.tell()
        data.write(struct.pack(f"<{len(values)}f", *values))
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [begin, data.tell()]}
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data.getvalue())


def stripes(count):
    """Pictures of 8 x 8 with a stripe, and in which half and which way it runs."""
    pixels, labels = [], []
    for _ in range(count):
        upright, place = random.randrange(2), random.randrange(8)
        labels.append(2 * upright + (place >= 4))
        pixels += [random.random() / 4 + ((column if upright else row) == place) for row in range(8) for column in range(8)]
    return {"x": ("<f4", (count, 8, 8, 1), pixels), "y": ("<i8", (count,), labels)}


def points(count):
    """Points of the plane, and between which lines they lie."""
    pairs = [(random.random(), random.random()) for _ in range(count)]
    return {"x": ("<f4", (count, 2), [value for pair in pairs for value in pair]), "y": ("<i8", (count,), [(a + b > 0.8) + (a + b > 1.2) for a, b in pairs])}


def some(*shape):
    count = 1
    for size in shape:
        count *= size
    return "<f4", shape, [random.uniform(0.05, 0.1) for _ in range(count)]


# By page: the data, the file of weights, its writer, and what is in it.
PAGES = {
    "from-pytorch.md": (stripes, "net.safetensors", safetensors, {
        "conv.weight": some(8, 1, 3, 3), "conv.bias": some(8), "fc.weight": some(4, 288), "fc.bias": some(4),
        **{f"bn.{name}": some(8) for name in ("weight", "bias", "running_mean", "running_var")}}),
    "from-keras.md": (points, "net.npz", npz, {
        "hidden/kernel": some(2, 16), "hidden/bias": some(16), "logits/kernel": some(16, 3), "logits/bias": some(3),
        **{f"normal/{name}": some(16) for name in ("gamma", "beta", "moving_mean", "moving_variance")}}),
}


def main(root, page, program):
    root = pathlib.Path(root)
    words = words_of_headers(root)
    names = list(names_in(root / "docs" / "how-to" / page))
    missing = [name for name in names if name not in words]
    print(f"{len(names)} names, missing in the public headers: {missing}")
    if missing or len(names) < 40:
        sys.exit("the page names what is not there, or hardly anything")
    data, file, write, weights = PAGES[page]
    random.seed(3)
    environment = {key: value for key, value in os.environ.items() if key not in ("TF_CONFIG", "SHOAL_DATA")}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        npz(folder / "train.npz", data(1000))
        npz(folder / "test.npz", data(200))
        for model_dir in ("m1", "m2"):
            ended = subprocess.run([program, "--model-dir", model_dir, "--seed", "3"], env=environment, cwd=folder, text=True, capture_output=True,
                                   timeout=SECONDS_MAX, check=False)
            print(ended.stderr + ended.stdout)
            accuracies = [float(line.split()[1]) for line in ended.stdout.splitlines() if line.startswith("accuracy ")]
            if ended.returncode != 0 or not accuracies or accuracies[0] < 0.85:
                sys.exit("it did not learn")
            begun = f"variables start from file {file}" in ended.stderr
            if begun != (model_dir == "m2") or "nothing starts from" in ended.stderr:
                sys.exit("it did not begin as it should have")
            write(folder / file, weights)


main(*sys.argv[1:])
