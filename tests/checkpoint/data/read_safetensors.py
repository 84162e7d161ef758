# SPDX-License-Identifier: Apache-2.0
"""Reads a safetensors file with json and struct alone and prints what is in it, one tensor per line.

Independent of Shoal: written from the format's own description (an unsigned little-endian 64-bit header length, a JSON
header of {name: {dtype, shape, data_offsets}}, then the data, which the tensors fill without holes or overlap).
"""
import json
import struct
import sys

FORMATS = {"F32": "f", "I32": "i", "I64": "q", "U8": "B", "BOOL": "?", "BF16": "H", "F16": "e"}

with open(sys.argv[1], "rb") as file:
    content = file.read()
(header_bytes,) = struct.unpack_from("<Q", content)
assert header_bytes <= 100_000_000, "header too long"
header = json.loads(content[8 : 8 + header_bytes])
data = content[8 + header_bytes :]
metadata = header.pop("__metadata__", {})
assert all(isinstance(value, str) for value in metadata.values()), "metadata maps strings to strings"
end = 0
for name, tensor in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
    begin, next_end = tensor["data_offsets"]
    assert begin == end, f"{name}: hole or overlap at {begin}"
    end = next_end
    count = 1
    for size in tensor["shape"]:
        count *= size
    code = FORMATS[tensor["dtype"]]
    assert next_end - begin == count * struct.calcsize("<" + code), f"{name}: size"
    values = struct.unpack_from(f"<{count}{code}", data, begin)
    print(name, tensor["dtype"], tensor["shape"], [float(value) for value in values])
assert end == len(data), "data beyond the last tensor"
