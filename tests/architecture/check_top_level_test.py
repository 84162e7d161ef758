#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_top_level.py finds what it is for."""
import pathlib
import tempfile
import unittest

import check_top_level


class CheckTopLevel(unittest.TestCase):
    def breaches(self, folders, files):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name in folders:
                (root / name).mkdir()
            for name in files:
                (root / name).write_text("x")
            return [line.split(":")[0] for line in check_top_level.breaches(root)]

    def test_what_belongs_there_is_right(self):
        self.assertEqual(self.breaches(["modules", "build-arm64", ".git", "tests"], ["README.md", "dev", ".gitignore"]), [])

    def test_each_other_name_is_found(self):
        self.assertEqual(self.breaches(["--help", "dev", "modules"], ["modules.txt", "README.md", "docs"]),
                         ["--help", "dev", "docs", "modules.txt"])


if __name__ == "__main__":
    unittest.main()
