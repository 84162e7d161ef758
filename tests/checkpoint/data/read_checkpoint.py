# SPDX-License-Identifier: Apache-2.0
"""Reads a tensor of float32 from a checkpoint with json and struct alone and prints the first element of each row.

Independent of Shoal: written from docs/formats.md. Arguments: the checkpoint's prefix, the tensor's name.
"""
import json
import os
import struct
import sys

prefix, name = sys.argv[1:]
with open(prefix + ".index", encoding="utf-8") as file:
    index = json.load(file)
assert index["format"] == "shoal checkpoint" and index["version"] in (1, 2)
manifest = index["manifest"]
files = []
for entry in manifest["files"]:
    with open(os.path.join(os.path.dirname(prefix), entry["name"]), "rb") as file:
        files.append(file.read())
    assert len(files[-1]) == entry["bytes"]

(tensor,) = (entry for entry in manifest["tensors"] if entry["name"] == name)
assert tensor["dtype"] == "float32"
content = bytearray()
for piece in tensor["pieces"]:
    rows = bytearray(files[piece["file"]][piece["offset"] : piece["offset"] + piece["bytes"]])
    for patch in piece.get("patches", []):
        data, unit_bytes = files[patch["file"]], patch["unit_bytes"]
        numbers = struct.unpack_from(f"<{patch['count']}q", data, patch["offset"])
        at = patch["offset"] + 8 * patch["count"]
        for number in numbers:
            begin = number * unit_bytes
            end = min(begin + unit_bytes, len(rows))
            rows[begin:end] = data[at : at + end - begin]
            at += end - begin
        assert at == patch["offset"] + 8 * patch["count"] + patch["bytes"]
    content += rows

row_elements = 1
for size in tensor["shape"][1:]:
    row_elements *= size
for (value, *_) in struct.iter_unpack(f"<{row_elements}f", content):
    print(f"{value:.6g}")
