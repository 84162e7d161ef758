# SPDX-License-Identifier: Apache-2.0
"""That check_exceptions.py finds what it is there for: each rule broken once, in a small tree of its own."""
import pathlib
import tempfile
import unittest

import check_exceptions


class CheckExceptions(unittest.TestCase):
    def found(self, files):
        """The sentences about a tree of these files (path to text)."""
        with tempfile.TemporaryDirectory() as folder:
            for path, text in files.items():
                target = pathlib.Path(folder) / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(text)
            return [f"{name}:{number}: {sentence}" for name, number, sentence in check_exceptions.breaches(folder)]

    def assert_one(self, files, *parts):
        found = self.found(files)
        self.assertEqual(len(found), 1, found)
        for part in parts:
            self.assertIn(part, found[0])

    def test_accepts_a_tree_that_keeps_the_rules(self):
        self.assertEqual([], self.found({
            "modules/base/src/guarded.h": "#pragma once\n#if defined(__cpp_exceptions)\n  try {\n#endif\n  run();  // it may throw\n",
            "modules/data/src/wire.cc": "#include <protozero/pbf_reader.hpp>\n  try {\n  } catch (...) {\n",
            "modules/data/CMakeLists.txt": "shoal_catching(src/wire.cc)\n",
            "modules/cluster/src/text.cc": 'const char* text = "try { throw }";\nstruct retry { int try_; };\n',
            "backends/onednn/a.cc": "  try {\n",
        }))

    def test_finds_a_source_that_catches(self):
        self.assert_one({"modules/cluster/src/a.cc": "\n  try {\n"}, "modules/cluster/src/a.cc:2:", "shoal_catching()")
        self.assert_one({"transport/tcp/a.cc": "  } catch (const std::bad_alloc&) {\n"}, "transport/tcp/a.cc:1:")
        self.assert_one({"backends/src/a.h": "  throw 1;\n"}, "backends/src/a.h:1:")

    def test_finds_what_stands_behind_the_guard(self):
        guarded = "#if defined(__cpp_exceptions)\n  throw;\n#else\n  throw;\n#endif\n"
        self.assert_one({"modules/base/src/a.cc": guarded}, "modules/base/src/a.cc:4:")
        self.assert_one({"modules/base/src/a.cc": "#if !defined(__cpp_exceptions)\n  throw;\n#endif\n"}, "modules/base/src/a.cc:2:")

    def test_finds_a_library_that_throws(self):
        self.assert_one({"modules/data/src/a.cc": "#include <protozero/pbf_writer.hpp>\n"}, "includes protozero")
        self.assert_one({"modules/data/src/a.cc": '#include "wire.h"\n', "modules/data/src/wire.h": "#include <protozero/pbf_writer.hpp>\n"},
                        "modules/data/src/a.cc:1:")

    def test_finds_a_name_without_a_source(self):
        self.assert_one({"modules/data/CMakeLists.txt": "shoal_catching(src/gone.cc)\n", "modules/data/src/a.cc": "\n"}, "is not there")

    def test_finds_an_empty_tree(self):
        self.assert_one({}, "no sources")


if __name__ == "__main__":
    unittest.main()
