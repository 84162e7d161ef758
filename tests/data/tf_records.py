# SPDX-License-Identifier: Apache-2.0
"""Writes or reads a TFRecord file, independent of Shoal: write FILE TEXT..., or read FILE.

From the format's own description (a 64-bit length, the masked CRC-32C of it, the bytes, the masked CRC-32C of them; little-endian).
"""
import struct
import sys


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def write(path, records):
    with open(path, "wb") as file:
        for data in records:
            length = struct.pack("<Q", len(data))
            file.write(length + struct.pack("<I", masked(length)) + data + struct.pack("<I", masked(data)))


def read(path):
    with open(path, "rb") as file:
        while head := file.read(12):
            length, check = struct.unpack("<QI", head)
            assert check == masked(head[:8])
            data = file.read(length)
            assert struct.unpack("<I", file.read(4)) == (masked(data),)
            yield data


if __name__ == "__main__":
    command, path, *texts = sys.argv[1:]
    if command == "write":
        write(path, [text.encode() for text in texts])
    else:
        for record in read(path):
            print(record.decode())
