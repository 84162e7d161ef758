#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_protocol.py finds what a page lacks and what it names in vain."""
import pathlib
import shutil
import tempfile
import unittest

import check_protocol

ROOT = pathlib.Path(__file__).resolve().parents[2]


class CheckProtocol(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)
        for name in (check_protocol.PAGE, check_protocol.SCHEMA, check_protocol.MESSAGE):
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.root / name)
        for folder in check_protocol.SPEAKERS:
            shutil.copytree(ROOT / folder, self.root / folder)

    def replace(self, name, old, new):
        path = self.root / name
        text = path.read_text(encoding="utf-8")
        self.assertIn(old, text)
        path.write_text(text.replace(old, new, 1), encoding="utf-8")

    def assert_found(self, *parts):
        found = list(check_protocol.problems(self.root))
        self.assertEqual(len(found), 1, found)
        for part in parts:
            self.assertIn(part, found[0])

    def test_the_page_of_the_tree_is_complete(self):
        self.assertEqual(list(check_protocol.problems(self.root)), [])

    def test_a_new_field_of_a_body(self):
        self.replace(check_protocol.SCHEMA, "table Failure {", "table Failure {\n  advice:string;")
        self.assert_found("in Failure the field advice", "lacks")

    def test_a_field_that_is_gone(self):
        self.replace(check_protocol.SCHEMA, "  sentence:string (required);\n", "")
        self.assert_found("in Failure the field sentence", "does not have")

    def test_a_new_field_of_the_head(self):
        self.replace(check_protocol.MESSAGE, "  uint64_t job = 0; ", "  uint64_t term = 0;\n  uint64_t job = 0; ")
        self.assert_found("in the head the field term")

    def test_a_new_version(self):
        self.replace(check_protocol.MESSAGE, "kProtocolVersion = ", "kProtocolVersion = 9")
        self.assert_found("the protocol has version 9")

    def test_a_verb_that_the_page_lacks(self):
        self.replace(check_protocol.PAGE, "| `seal` |", "| `lease` |")
        self.assert_found("lacks the verb seal")

    def test_a_verb_that_the_code_lacks(self):
        self.replace(check_protocol.PAGE, "| `seal` |", "| `seal`, `pause` |")
        self.assert_found("names the verb pause")

    def test_a_field_of_a_text(self):
        self.replace(check_protocol.TEXTS[0], '{"failed", end.failed}', '{"lost", end.failed}')
        found = list(check_protocol.problems(self.root))
        self.assertTrue(any("lacks the field of a text lost" in line for line in found), found)

    def test_another_status(self):
        self.replace(check_protocol.STATUS, "kStatusKept = 4", "kStatusKept = 5")
        found = list(check_protocol.problems(self.root))
        self.assertTrue(any("kStatusKept 5" in line for line in found), found)


if __name__ == "__main__":
    unittest.main()
