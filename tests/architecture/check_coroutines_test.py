# SPDX-License-Identifier: Apache-2.0
"""That check_coroutines.py finds what it is there for, and lets the ways to write it right through."""
import pathlib
import tempfile
import unittest

import check_coroutines


class CheckCoroutines(unittest.TestCase):
    def found(self, text):
        return [f"{line}: {sentence}" for line, sentence in check_coroutines.breaches_in(text)]

    def assert_one(self, text, *parts):
        found = self.found(text)
        self.assertEqual(len(found), 1, f"{text}: {found}")
        for part in parts:
            self.assertIn(part, found[0])

    def assert_none(self, text):
        self.assertEqual([], self.found(text), text)

    def test_finds_co_await_in_either_branch_of_a_condition(self):
        for text in ("x = a ? co_await b : c;", "x = a ? b : co_await c;", "\nx = a\n ? b\n : co_await c;",
                     "x = a ? b : f(1, co_await c);", "x = a ? f(b, 2) : (co_await c).value();",
                     "f(x, a ? b : co_await c);", "x = a ? T{1} : co_await c;", "x = a ? g(co_await b) : c;",
                     "x = a ? b : d ? e : co_await c;", "SHOAL_CO_TRY(auto x, a ? b : co_await c);",
                     "x = p[i ? 1 : 2] ? b : co_await c;"):
            self.assert_one(text, "?:")
        self.assert_one("int a;\n\nint b = c ? d :\n  co_await e;", "4:")

    def test_lets_other_conditions_through(self):
        for text in ("x = a ? b : c; co_await d;", "f(a ? b : c, co_await d);", "x = co_await d ? 1 : 2;",
                     "if (a) { b ? c : d; }\nco_await e;", "auto x = a ? b : c;\nif (y) co_await z;",
                     'x = "a ? b :" + co_await c;', "x = co_await c;  // a ? b : co_await c;\n/* a ? co_await b : c */",
                     "x = '?' + co_await c;", "x = 1'000'000; y = a ? 1'000 : 2'000; co_await c;",
                     "for (auto& x : all) co_await x;", "case 1: co_await x;",
                     "x = a ? [] { return 1; }() : 2; { co_await y; }"):
            self.assert_none(text)

    def test_finds_a_lambda_that_captures(self):
        for text in ("co_await f([this] { return 1; });", "co_await f([&](int x) { return x; });",
                     "co_await f(1, [=, y = std::move(z)]() mutable { y(); });", "co_await f(\n  [x] mutable { });",
                     "SHOAL_CO_TRY(auto y, co_await env.offload([&] { return 1; }));", "co_await [&]() -> Task<void> { f(); }();"):
            self.assert_one(text, "capturing lambda")
        self.assert_one("\n\nint x = co_await f(1, 2,\n  [&] { return 3; });", "3:")

    def test_lets_named_lambdas_and_indices_through(self):
        for text in ("auto work = [&] { return 1; };\nco_await f(std::move(work));", "co_await f(links[i], g()[j]);",
                     "co_await links_[shard]->request(m);", "co_await f([] { return 1; });",
                     'co_await f([](int x) { return x; }, "[a](");', "co_await f(x); g([&] { return 1; });",
                     "g(co_await f(x), [&] { return 1; });", "auto operator co_await() && { struct A { T* t{nullptr}; }; }"):
            self.assert_none(text)

    def test_finds_an_aggregate(self):
        for text in ("co_await f(Range{a, b});", "co_await f({.bytes = 1});", "co_await Starter{task};",
                     "co_await f(std::array<int, 2>{1, 2});", "SHOAL_CO_TRY(auto x, co_await f(1, {a, b}));"):
            self.assert_one(text, "aggregate")

    def test_lets_empty_braces_through(self):
        for text in ('co_await f("", {}, deadline);', "co_await f(std::string{});", "if (co_await f(x)) { g(); }",
                     "const Range range{a, b};\nco_await f(range);"):
            self.assert_none(text)

    def test_walks_a_tree(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual([("", 0, f"no sources below {folder}")], list(check_coroutines.breaches(folder)))
            source = pathlib.Path(folder) / "tests" / "base" / "a_test.cc"
            source.parent.mkdir(parents=True)
            source.write_text("x;\ny = a ? b : co_await c;\n")
            found = list(check_coroutines.breaches(folder))
            self.assertEqual([("tests/base/a_test.cc", 2)], [(name, line) for name, line, sentence in found])


if __name__ == "__main__":
    unittest.main()
