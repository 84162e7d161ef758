#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_api.py finds what it is for."""
import pathlib
import tempfile
import unittest

import check_api

HEADERS = {"modules/nn/include/shoal/nn/dense.h": "namespace shoal::nn {\nValue dense(Value x);  // Not conv2d.\n}",
           "transport/include/shoal/transport/token.h": "namespace shoal::transport {\nclass Token {};\n}",
           "modules/estimator/include/shoal/shoal.h": '#include "shoal/nn/dense.h"\n'}
DENSE = "| fully connected | `nn::dense` | `shoal/nn/dense.h` |"


class CheckApi(unittest.TestCase):
    def breaches(self, *lines):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            page = "\n".join(["# API", "", "| what it is | names | header |", "| --- | --- | --- |", *lines, ""])
            for name, text in {**HEADERS, "docs/api.md": page}.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            return list(check_api.breaches(root))

    def test_rows_of_names_that_are_there_are_right(self):
        self.assertEqual(self.breaches(DENSE, "| a job's token | `transport::Token`, `Token` | `shoal/transport/token.h` |",
                                       "| both | `nn::dense`, `Token` | `shoal/nn/dense.h`, `shoal/transport/token.h` |"), [])

    def test_a_name_that_is_not_there_or_only_in_a_comment_is_found(self):
        self.assertEqual(self.breaches(DENSE, "| x | `nn::conv2d` | `shoal/nn/dense.h` |"),
                         ["docs/api.md:6: shoal/nn/dense.h has no nn::conv2d"])
        self.assertEqual(self.breaches(DENSE, "| x | `nn::Token` | `shoal/transport/token.h` |"),
                         ["docs/api.md:6: shoal/transport/token.h has no nn::Token"])

    def test_a_header_that_is_not_there_is_found(self):
        self.assertEqual(self.breaches(DENSE, "| x | `Token` | `shoal/nn/token.h` |"),
                         ["docs/api.md:6: there is no public header shoal/nn/token.h"])

    def test_a_row_of_another_form_is_found(self):
        self.assertIn("docs/api.md:6: a row says", self.breaches(DENSE, "| x | no name | `shoal/nn/dense.h` |")[0])
        self.assertIn("docs/api.md:6: a row says", self.breaches(DENSE, "| x | `nn::dense` | no header |")[0])
        self.assertIn("docs/api.md:6: a row says", self.breaches(DENSE, "| `nn::dense` | `shoal/nn/dense.h` |")[0])

    def test_a_header_of_shoal_h_without_a_row_is_found(self):
        self.assertEqual(self.breaches(), ["docs/api.md: shoal/nn/dense.h has no row, and a program that includes shoal/shoal.h has it"])


if __name__ == "__main__":
    unittest.main()
