#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files larger than memory: 10 GB of TFRecord and 100 GB of records of a fixed length, which a sparse file has, go through a shuffle, a
batch and a prefetch. The process has the memory that these buffers state and 64 MiB, however large the files are."""
import os
import shutil
import subprocess
import tempfile
import time

import outcome
from job import program

GB = 10**9
SECONDS_MAX = 1500
BESIDE_BYTES = 64 << 20  # the program, its libraries, and what the C library keeps of what was freed
RECORD_BYTES = 100_000


def numbers(*arguments):
    said = subprocess.run([*program("read_records"), *arguments], text=True, capture_output=True, timeout=SECONDS_MAX, check=True).stdout
    return [int(word) for word in said.split()]


def read(kind, path, expected):
    begun = time.monotonic()
    count, total, buffers, peak = numbers(kind, path)
    if (count, total) != expected:
        raise AssertionError(f"{path}: {count} records of {total} bytes in all, and not {expected}")
    if peak > buffers + BESIDE_BYTES:
        raise AssertionError(f"{path}: {peak >> 20} MiB at most, and the buffers hold {buffers >> 20} MiB")
    return f"{peak >> 20} MiB for buffers of {buffers >> 20} MiB ({total / GB / (time.monotonic() - begun):.1f} GB/s)"


def body():
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        if shutil.disk_usage(folder).free < 20 * GB:
            raise outcome.Skip("the disk has no 20 GB to spare")
        path = os.path.join(folder, "records")
        framed = read("tfrecord", path, tuple(numbers("write", path, str(10 * GB))))
        os.remove(path)
        with open(path, "wb") as file:
            file.truncate(100 * GB)
        sparse = read(str(RECORD_BYTES), path, (100 * GB // RECORD_BYTES, 100 * GB))
    return {"seconds": time.monotonic() - begun, "how": f"10 GB of TFRecord: {framed}; 100 GB of fixed length: {sparse}"}


if __name__ == "__main__":
    outcome.end_with(body)
