# SPDX-License-Identifier: Apache-2.0
"""That check_exit.py finds what it is there for, and leaves other libraries' variables alone."""
import pathlib
import subprocess
import tempfile
import unittest

import check_exit

SOURCE = """#include <map>
#include <string>
#include <utility>
namespace CLI { struct Validator { ~Validator(); }; const Validator whole; }
namespace shoal {
%s
}
"""


class CheckExit(unittest.TestCase):
    def found(self, text):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "a.cc"
            source.write_text(SOURCE % text)
            subprocess.run(["g++", "-std=c++20", "-O2", "-fPIC", "-c", str(source), "-o", f"{folder}/a.o"], check=True)
            ended = subprocess.run(["objdump", "-drC", f"{folder}/a.o"], stdout=subprocess.PIPE, text=True, check=True)
            return check_exit.breaches_in(ended.stdout)

    def test_finds_a_variable_of_a_function(self):
        found = self.found("const std::map<int, int>& table() { static const std::map<int, int> all{{1, 2}}; return all; }")
        self.assertEqual(["shoal::table()"], found)

    def test_finds_a_variable_of_a_namespace(self):
        found = self.found("extern const std::map<int, int> all; const std::map<int, int> all{{1, 2}};")
        self.assertEqual(1, len(found), found)
        self.assertIn("map", found[0])

    def test_leaves_others_alone(self):
        self.assertEqual([], self.found("int f() { return 1; }"))
        self.assertEqual([], self.found("const std::map<int, int>& table() {"
                                        " static const auto& all = *new std::map<int, int>{{1, 2}}; return all; }"))


if __name__ == "__main__":
    unittest.main()
