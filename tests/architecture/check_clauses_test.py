#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_clauses.py finds clause numbers and nothing that only looks like one."""
import unittest

import check_clauses


class CheckClauses(unittest.TestCase):
    def found(self, line):
        return [sentence for sentence in check_clauses.breaches("a.cc", line)]

    def test_clauses(self):
        for line in ("/// As before (CONTRACT FA-11).", "// See EV-15.", "// CONTRACT 17 says so.", "int x;  // RU-5"):
            self.assertEqual(len(self.found(line)), 1, line)

    def test_other_words(self):
        for line in ("// UTF-8, UTF-16, SHA-256, CRC-32C", "// RFC 6455, ISO-8859-1", "// the FA-coding", "-ffp-contract=off", "// AVX-512"):
            self.assertEqual(self.found(line), [], line)

    def test_the_line_is_named(self):
        self.assertIn("a.cc:2: names HK-7", self.found("one\n// HK-7")[0])


if __name__ == "__main__":
    unittest.main()
