#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Some steps of each model have the hash that was recorded, on this machine, with one thread and with three.

    recorded_test.py PROGRAM [WORDS BEFORE IT ...]    (an emulator and its options)"""
import sys
import unittest

import hashes

STEPS = 20


class Recorded(unittest.TestCase):
    program = []

    def test_every_model_has_its_hash(self):
        expected = {model: value for (model, steps), value in hashes.recorded().items() if steps == STEPS}
        self.assertEqual(sorted(expected), ["convolutions", "lstm", "table", "transformer"])
        for model, value in expected.items():
            for threads in ("1", "3"):
                with self.subTest(model=model, threads=threads):
                    self.assertEqual(hashes.run(self.program, model, STEPS, "--threads", threads), value)


if __name__ == "__main__":
    Recorded.program = [*sys.argv[2:], sys.argv[1]]
    unittest.main(argv=sys.argv[:1])
