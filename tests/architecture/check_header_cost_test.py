# SPDX-License-Identifier: Apache-2.0
"""That check_header_cost.py finds what it is there for, and lets what is cheap pass."""
import contextlib
import io
import os
import pathlib
import tempfile
import unittest

import check_header_cost


class CheckHeaderCost(unittest.TestCase):
    def found(self, text):
        return list(check_header_cost.breaches_in("shoal/base/a.h", text))

    def test_finds_a_large_standard_header(self):
        self.assertIn("<mutex>", self.found("#include <mutex>\n#include <string>\n")[0])
        self.assertIn("<functional>", self.found("#  include <functional>  // for std::function\n")[0])

    def test_finds_a_dear_member(self):
        for member in ("std::unique_ptr<State> state_;", "const std::unique_ptr<State> state_;", "std::variant<int, A> one = 0;",
                       "mutable std::mutex mutex_;", "std::unordered_map<std::string, int> ids_{};"):
            with self.subTest(member):
                self.assertIn("shoal/base/a.h:2", self.found(f"class A {{\n  {member}\n}};\n")[0])

    def test_lets_cheap_ones_pass(self):
        self.assertEqual([], self.found('#include <string>\n#include <vector>\n#include "shoal/base/result.h"\n'))
        self.assertEqual([], self.found("class A {\n  std::unique_ptr<B> make();\n  Hidden<State> state_;\n};\n"
                                        "using Item = std::variant<int, bool>;\nstd::unique_ptr<A> made(std::mutex& by);\n"))

    def test_lets_the_two_headers_include_parts(self):
        self.assertEqual([], list(check_header_cost.breaches_in("shoal/base/time.h", "#include <chrono>\n")))

    def run_on(self, header, lines_max):
        """The exit status and what is printed for a project whose shoal/shoal.h includes one header."""
        with tempfile.TemporaryDirectory() as folder:
            own = pathlib.Path(folder) / "modules/base/include/shoal"
            (own / "base").mkdir(parents=True)
            (own / "shoal.h").write_text('#pragma once\n#include "shoal/base/a.h"\n')
            (own / "base/a.h").write_text("#pragma once\n" + header)
            was, check_header_cost.LINES_MAX = check_header_cost.LINES_MAX, lines_max
            try:
                with contextlib.redirect_stdout(io.StringIO()) as printed:
                    status = check_header_cost.main(folder, os.environ.get("CXX", "c++"))
            finally:
                check_header_cost.LINES_MAX = was
            return status, printed.getvalue()

    def test_counts_lines(self):
        self.assertEqual((0, ""), self.run_on("int a();\nint b();\n", lines_max=2))
        status, printed = self.run_on("int a();\nint b();\n", lines_max=1)
        self.assertEqual(1, status)
        self.assertIn("2 lines beyond", printed)

    def test_counts_standard_headers_that_come_along(self):
        self.assertEqual((0, ""), self.run_on("#include <string>\n#include <map>\n", lines_max=0))
        self.assertEqual(1, self.run_on("#include <iterator>\n#include <regex.h>\n", lines_max=0)[0])

    def test_names_the_header(self):
        status, printed = self.run_on("#include <regex>\n", lines_max=10**6)
        self.assertEqual(1, status)
        self.assertIn("shoal/base/a.h: includes <regex>", printed)


if __name__ == "__main__":
    unittest.main()
