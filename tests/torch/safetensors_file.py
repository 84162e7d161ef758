# SPDX-License-Identifier: Apache-2.0
"""Writes safetensors files, since Debian has no package of the library that does."""
import json
import struct

NAMES = {"float32": "F32", "float16": "F16", "float64": "F64", "int64": "I64", "int32": "I32", "uint8": "U8", "bool": "BOOL",
         "int16": "I16"}


def save(path, arrays):
    """`arrays`: numpy arrays by name. A tuple (dtype, shape, bytes) stands for what numpy does not have, as bfloat16."""
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, array in arrays.items():
        dtype, shape, contents = array if isinstance(array, tuple) else (NAMES[str(array.dtype)], array.shape, array.tobytes())
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [len(data), len(data) + len(contents)]}
        data += contents
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)
