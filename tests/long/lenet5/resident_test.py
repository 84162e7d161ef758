#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A static program that trains LeNet-5 with one example a step has at most 12 MiB of memory resident, and learns.

    resident_test.py PROGRAM [WORDS BEFORE IT ...]    (an emulator of a 64-bit processor and its options)"""
import re
import subprocess
import sys
import tempfile
import unittest

KIB_MAX = 12 * 1024
ACCURACY_MIN = 0.9
STEPS = "300"
SECONDS_MAX = 600
PRINTED = re.compile(r"resident at most: \d+ KiB, by its pages (\d+) KiB")
ACCURACY = re.compile(r"Evaluated at global step \d+: accuracy ([\d.]+)")


class Resident(unittest.TestCase):
    program = []

    def test_a_training_takes_little_memory(self):
        with tempfile.TemporaryDirectory() as folder:
            ended = subprocess.run([*self.program, "--steps", STEPS, "--seed", "3", "--model-dir", folder], capture_output=True, text=True,
                                   check=False, timeout=SECONDS_MAX)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        text = ended.stdout + ended.stderr
        resident = int(PRINTED.search(text).group(1))
        print(f"LeNet-5, batch 1: {resident} KiB resident")
        self.assertGreater(resident, 1024)  # A program of some MiB has more, or the pages were not found.
        self.assertLessEqual(resident, KIB_MAX)
        self.assertGreaterEqual(float(ACCURACY.search(text).group(1)), ACCURACY_MIN)


if __name__ == "__main__":
    Resident.program = [*sys.argv[2:], sys.argv[1]]
    unittest.main(argv=sys.argv[:1])
