# SPDX-License-Identifier: Apache-2.0
"""Prints the elements of a file of cache() that is not compressed, as lines of JSON; made from docs/formats.md."""
import json
import struct
import sys

import tf_records


def number(data, at):
    value, shift = 0, 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def text(data, at):
    size, at = number(data, at)
    return data[at:at + size].decode(), at + size


def tensors(data, at):
    count, at = number(data, at)
    found = {}
    for _ in range(count):
        name, at = text(data, at)
        dtype, at = text(data, at)
        rank, at = number(data, at)
        elements, dims = 1, []
        for _ in range(rank):
            size, at = number(data, at)
            dims.append(size)
            elements *= size
        if dtype == "string":
            values = []
            for _ in range(elements):
                value, at = text(data, at)
                values.append(value)
        else:
            form = "<" + {"float32": "f", "int64": "q", "int32": "i", "uint8": "B"}[dtype] * elements
            values = list(struct.unpack_from(form, data, at))
            at += struct.calcsize(form)
        found[name] = [dtype, dims, values]
    return found, at


path = sys.argv[1]
with open(path, "rb") as file:
    contents = file.read()
assert contents[-8:] == b"shoalend"
with open(path + ".records", "wb") as file:  # without the last 16 bytes it is a file of records
    file.write(contents[:-16])
records = list(tf_records.read(path + ".records"))
assert records[0][:14] == b"shoal cache 1\n" and records[0][22] == 0
elements = 0
for block in records[1:-1]:
    at = 0
    while at < len(block):
        size, at = number(block, at)
        features, end = tensors(block, at)
        labels, end = tensors(block, end)
        assert end == at + size
        at = end
        elements += 1
        print(json.dumps([features, labels]))
assert struct.unpack_from("<Q", records[-1]) == (elements,)
assert (len(records[-1]) - 16) // 16 == len(records) - 2
