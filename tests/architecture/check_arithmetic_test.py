#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_arithmetic.py finds what it is for."""
import pathlib
import tempfile
import unittest

import check_arithmetic

TABLE = "| op | onednn | portable |\n| --- | --- | --- |\n| `dense` | yes | a chain |\n| `relu`, `add` | | elements |\n"


def makers(*ops):
    return "".join(f'      {{"{op}", &make_{op}}},\n' for op in ops)


class CheckArithmetic(unittest.TestCase):
    def faults(self, table, portable, onednn):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "docs").mkdir()
            (root / "docs" / "arithmetic.md").write_text(table)
            for backend, ops in (("portable", portable), ("onednn", onednn)):
                (root / "backends" / backend).mkdir(parents=True)
                (root / "backends" / backend / "backend.cc").write_text(makers(*ops))
            return list(check_arithmetic.faults(root))

    def test_a_table_of_all_ops_is_right(self):
        self.assertEqual(self.faults(TABLE, ["dense", "relu", "add"], ["dense"]), [])

    def test_each_difference_is_found(self):
        for portable, onednn, fault in (
            (["dense", "relu", "add", "exp"], ["dense"], "no row says that portable computes `exp`"),
            (["dense", "relu"], ["dense"], "a row says that portable computes `add`"),
            (["dense", "relu", "add"], ["dense", "add"], "no row says that onednn computes `add`"),
            (["dense", "relu", "add"], ["exp"], "a row says that onednn computes `dense`"),
        ):
            with self.subTest(fault):
                self.assertIn(fault, "\n".join(self.faults(TABLE, portable, onednn)))

    def test_an_op_in_two_rows_is_found(self):
        self.assertIn("two rows name `add`", self.faults(TABLE + "| `add` | | elements |\n", ["dense", "relu", "add"], ["dense"])[0])

    def test_a_table_of_makers_that_it_cannot_read_is_found(self):
        self.assertIn("no row of the table of makers", "\n".join(self.faults(TABLE, ["dense", "relu", "add"], [])))


if __name__ == "__main__":
    unittest.main()
