# SPDX-License-Identifier: Apache-2.0
"""That check_includes.py finds what it is there for: each rule broken once, in a small tree of its own."""
import pathlib
import tempfile
import unittest

import check_includes

HEADER = "#pragma once\n"


class CheckIncludes(unittest.TestCase):
    def found(self, files):
        """The sentences about a tree of these files (path to text)."""
        with tempfile.TemporaryDirectory() as folder:
            for path, text in files.items():
                target = pathlib.Path(folder) / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(text)
            return [f"{name}:{number}: {sentence}" for name, number, sentence in check_includes.breaches(folder)]

    def assert_one(self, files, *parts):
        found = self.found(files)
        self.assertEqual(len(found), 1, found)
        for part in parts:
            self.assertIn(part, found[0])

    def test_accepts_a_tree_that_keeps_the_rules(self):
        self.assertEqual([], self.found({
            "modules/base/include/shoal/base/error.h": HEADER + "#include <string>\n",
            "modules/base/src/error.cc": '#include "shoal/base/error.h"\n#include "text.h"\n#include <boost/asio.hpp>\n',
            "modules/base/src/text.h": HEADER,
            "modules/nn/include/shoal/nn/dense.h": HEADER + '#include "shoal/base/error.h"\n',
            "backends/include/shoal/backends/backend.h": HEADER + '#include "shoal/base/error.h"\n',
            "backends/onednn/conv.cc": '#include "conv.h"\n#include "shoal/backends/backend.h"\n#include <oneapi/dnnl/dnnl.hpp>\n',
            "backends/onednn/conv.h": HEADER,
            "backends/onednn/CMakeLists.txt": "# includes: oneapi/ dnnl\n",
            "transport/tcp/CMakeLists.txt": "# includes: boost/asio\n",
            "transport/tcp/tcp.cc": '#include "messages_generated.h"\n#include <boost/asio/ip/tcp.hpp>\n',
            "tests/nn/dense_test.cc": '#include "shoal/nn/dense.h"\n#include <gtest/gtest.h>\n#include <nlohmann/json.hpp>\n',
            "tests/nn/CMakeLists.txt": "",
            "tests/CMakeLists.txt": "foreach(folder IN ITEMS base nn)\n",
        }))

    def test_finds_an_include_against_the_layers(self):
        below = {"modules/nn/include/shoal/nn/dense.h": HEADER}
        self.assert_one(below | {"modules/graph/src/op.cc": '\n#include "shoal/nn/dense.h"\n'},
                        "modules/graph/src/op.cc:2:", "graph must not include nn")
        self.assert_one(below | {"backends/onednn/a.cc": '#include "shoal/nn/dense.h"\n'}, "backends must not include nn")
        self.assert_one(below | {"transport/tcp/a.cc": '  # include "shoal/nn/dense.h"\n'}, "transport must not include nn")
        self.assert_one({"modules/base/src/a.cc": '#include "shoal/elsewhere/x.h"\n'}, "no layer")
        self.assert_one(below | {"modules/data/src/a.cc": "#include <shoal/nn/dense.h>\n"}, "in quotes")

    def test_finds_third_party_where_it_does_not_belong(self):
        onednn = {"backends/onednn/CMakeLists.txt": "# includes: oneapi/ dnnl\n"}
        self.assert_one(onednn | {"modules/nn/src/a.cc": "#include <oneapi/dnnl/dnnl.hpp>\n"}, "only for backends/onednn")
        self.assert_one(onednn | {"modules/nn/src/a.cc": "#include <dnnl.hpp>\n"}, "only for backends/onednn")
        self.assert_one({"backends/onednn/a.cc": "#include <dnnl.hpp>\n"}, "only for plug-ins that say so")
        self.assert_one({"modules/cluster/src/job/a.cc": "#include <flatbuffers/flatbuffers.h>\n"}, "only for plug-ins that say so")
        self.assert_one({"transport/inproc/a.cc": "#include <boost/asio.hpp>\n"}, "only for modules/base")

    def test_keeps_streams_out_of_the_library_and_the_tool(self):
        for path, include in (("modules/data/src/a.cc", "fstream"), ("transport/tcp/a.cc", "regex"), ("modules/cli/src/a.cc", "sstream")):
            self.assert_one({path: f"#include <{include}>\n"}, f"<{include}>: for no source of the library or the tool")
        self.assertEqual([], self.found({"tests/nn/CMakeLists.txt": "",
                                         "tests/CMakeLists.txt": "foreach(folder IN ITEMS nn)\n",
                                         "tests/nn/a_test.cc": "#include <fstream>\n"}))

    def test_keeps_views_out_since_an_old_clang_does_not_compile_them(self):
        self.assert_one({"modules/nn/src/a.cc": "#include <ranges>\n"}, "<ranges>: clang 14")

    def test_keeps_headers_for_sources_out_of_public_headers(self):
        fields = {"modules/json/include/shoal/json/fields.h": HEADER + "#include <nlohmann/json.hpp>\n"}
        use = '#include "shoal/json/fields.h"\n'
        self.assertEqual([], self.found(fields | {"modules/graph/src/a.cc": use, "modules/graph/src/a.h": HEADER + use}))
        self.assert_one(fields | {"modules/graph/include/shoal/graph/a.h": HEADER + use}, "for sources only")

    def test_keeps_third_party_out_of_public_headers_everywhere(self):
        for include in ("nlohmann/json.hpp", "boost/asio.hpp", "flatbuffers/flatbuffers.h", "CLI/CLI.hpp", "zlib.h"):
            self.assert_one({"transport/include/shoal/transport/a.h": HEADER + f"#include <{include}>\n"}, "public headers")

    def test_keeps_parts_of_libstdcxx_to_the_headers_that_stand_for_them(self):
        part = HEADER + "#include <bits/std_function.h>\n"
        self.assertEqual([], self.found({"modules/base/include/shoal/base/std_function.h": part}))
        self.assert_one({"modules/base/include/shoal/base/a.h": part}, "public headers")

    def test_finds_private_headers_of_others(self):
        self.assert_one({"modules/nn/src/a.h": HEADER, "modules/data/src/b.cc": '#include "a.h"\n'}, "no private header")
        self.assert_one({"backends/reference/a.h": HEADER, "backends/onednn/b.cc": '#include "a.h"\n'}, "no private header")
        self.assert_one({"modules/base/src/a.h": HEADER, "modules/nn/src/b.cc": '#include "../../base/src/a.h"\n'},
                        "no private header")

    def test_lets_tests_and_benchmarks_share_headers_and_look_inside_modules(self):
        listing = {"tests/CMakeLists.txt": "nn base", "tests/nn/CMakeLists.txt": "", "tests/base/run.h": HEADER}
        self.assertEqual([], self.found(listing | {"tests/nn/a_test.cc": '#include "../base/run.h"\n#include "run.h"\n'}))
        self.assertEqual([], self.found({"modules/nn/src/x.h": HEADER, "bench/nn/b.cc": '#include "x.h"\n'}))
        self.assert_one({"bench/nn/b.cc": '#include "nowhere.h"\n'}, "no private header")

    def test_finds_an_include_against_the_rooms_of_a_module(self):
        cluster = "modules/cluster/"
        tree = {
            cluster + "src/job/quote.h": HEADER,
            cluster + "src/state/shard.cc": '#include "job/quote.h"\n#include "shoal/cluster/shard.h"\n',
            cluster + "include/shoal/cluster/shard.h": HEADER,
            cluster + "src/server/session.h": HEADER + '#include "shoal/cluster/shard.h"\n',
        }
        self.assertEqual([], self.found(tree))
        self.assert_one(tree | {cluster + "src/job/a.cc": '\n#include "shoal/cluster/shard.h"\n'}, "a.cc:2:",
                        "room job must not include room state")
        self.assert_one(tree | {cluster + "src/trainer/a.cc": '#include "server/session.h"\n'},
                        "room trainer must not include room server")
        self.assert_one(tree | {cluster + "include/shoal/cluster/store.h": HEADER,
                                cluster + "include/shoal/cluster/snapshot.h": HEADER + '#include "shoal/cluster/store.h"\n'},
                        "snapshot.h:2:", "room state must not include room trainer")

    def test_knows_a_room_above_the_files_of_a_module(self):
        cli = "modules/cli/src/"
        tree = {cli + "command.h": HEADER, cli + "launch/policy.h": HEADER, cli + "launch/a.cc": '#include "command.h"\n'}
        self.assertEqual([], self.found(tree))
        self.assert_one(tree | {cli + "commands.cc": '#include "launch/policy.h"\n'}, "room src must not include room launch")

    def test_finds_files_in_no_room(self):
        self.assert_one({"modules/cluster/src/a.cc": ""}, "in no room of modules/cluster")
        self.assert_one({"modules/cluster/src/attic/a.cc": ""}, "in no room of modules/cluster")
        self.assert_one({"modules/cluster/include/shoal/cluster/a.h": HEADER}, "in no room of modules/cluster")
        self.assert_one({"modules/nn/src/attic/a.cc": ""}, "modules/nn has no rooms")

    def test_finds_circles(self):
        base = "modules/base/include/shoal/base/"
        self.assert_one({
            base + "a.h": HEADER + '#include "shoal/base/b.h"\n',
            base + "b.h": HEADER + '#include "shoal/base/c.h"\n',
            base + "c.h": HEADER + '#include "shoal/base/a.h"\n',
        }, "closes a circle", "a.h -> ", "b.h -> ", "c.h -> ")
        self.assert_one({base + "a.h": HEADER + '#include "shoal/base/a.h"\n'}, "closes a circle")

    def test_finds_circles_of_headers_and_their_sources(self):
        src = "modules/nn/src/"
        knot = {src + "a.h": HEADER, src + "b.h": HEADER, src + "a.cc": '#include "a.h"\n#include "b.h"\n',
                src + "b.cc": '#include "b.h"\n#include "a.h"\n'}
        self.assert_one(knot, "circle of headers and their sources", src + "a -> ", src + "b -> ")
        self.assertEqual([], self.found(knot | {src + "b.cc": '#include "b.h"\n'}))

    def test_finds_headers_without_guard_and_names_that_say_nothing(self):
        self.assert_one({"modules/base/src/a.h": "// first\n#pragma once\n"}, "#pragma once")
        for name in ("utils.cc", "string_util.cc", "common.cc", "test_helpers.cc"):
            self.assert_one({"modules/base/src/" + name: ""}, "named for what it does")

    def test_finds_tests_that_no_build_knows(self):
        listing = {"tests/CMakeLists.txt": "foreach(folder IN ITEMS base)\n"}
        self.assert_one(listing | {"tests/nn/a_test.cc": "", "tests/nn/CMakeLists.txt": ""}, "tests/nn/a_test.cc", "nn")
        self.assert_one(listing | {"tests/base/a_test.cc": ""}, "tests/base/a_test.cc", "base")

    def test_each_library_is_allowed_only_where_it_is_used(self):
        root = pathlib.Path(__file__).resolve().parents[2]
        included = {(source.name, include) for source in check_includes.sources(root) for _, _, include in source.includes}
        for start, folders in check_includes.THIRD_PARTY.items():
            for folder in folders:
                self.assertTrue(any(name.startswith(folder + "/") and include.startswith(start) for name, include in included),
                                f"nothing in {folder} includes {start}: take it out of THIRD_PARTY")

    def test_finds_that_there_is_nothing_to_check(self):
        self.assert_one({"README.md": ""}, "no sources")


if __name__ == "__main__":
    unittest.main()
