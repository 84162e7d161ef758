# SPDX-License-Identifier: Apache-2.0
"""That .ci/check_skips.py sees each way in which a test skips, and excuses none that is not on its list."""
import pathlib
import sys
import unittest
from xml.sax.saxutils import escape

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / ".ci"))
import check_skips  # noqa: E402

GTEST = "[ RUN      ] Shm.Peer\naddress_test.cc:49: Skipped\nonly root can be somebody else\n\n[  SKIPPED ] Shm.Peer (0 ms)\n"
GTEST_BRIEF = "a_test.cc:28: Skipped\nno bfloat16 products\nb.cc:9: Skipped\nno root\n[  PASSED  ] 1 test.\n[  SKIPPED ] 2 tests.\n"
UNITTEST = "test_a (__main__.A.test_a) ... ok\ntest_b (__main__.A.test_b) ... skipped \"it's late\"\n\nOK (skipped=1)\n"
UNITTEST_BRIEF = "..s.\nRan 4 tests in 0.1s\n\nOK (skipped=1)\n"

BARE = check_skips.Machine(has_data=False, is_root=False, cpu_flags=frozenset())
FULL = check_skips.Machine(has_data=True, is_root=True, cpu_flags=frozenset({"avx512_bf16"}))


def case(name, output="", status="run", skipped=None):
    message = f'<skipped message="{skipped}"/>' if skipped else ""
    return f'<testcase name="{escape(name)}" status="{status}">{message}<system-out>{escape(output)}</system-out></testcase>'


def skipped(name, output, message="SKIP_RETURN_CODE=77"):
    return case(name, output, "notrun", message)


class CheckSkips(unittest.TestCase):
    def wrong(self, cases, entries="", machine=FULL):
        report = f"<testsuite>{''.join(cases)}</testsuite>"
        return check_skips.check(report, check_skips.parse_entries(entries), machine)[0]

    def assert_skips(self, cases, *sentences):
        self.assertEqual(list(sentences), self.wrong(cases))

    def test_a_run_without_skips_is_fine(self):
        self.assert_skips([case("base.Error.Says", "[       OK ] Error.Says"), case("fuzz.token", "corpus/token/whole")])

    def test_sees_a_case_of_gtest(self):
        self.assert_skips([skipped("shm.Shm.Peer", GTEST, "SKIP_REGULAR_EXPRESSION_MATCHED")],
                          "shm.Shm.Peer skipped: only root can be somebody else")

    def test_sees_a_script_that_skips(self):
        self.assert_skips([skipped("torch.ops", "skipped: No module named 'torch'\n")],
                          "torch.ops skipped: skipped: No module named 'torch'")
        self.assert_skips([skipped("torch.ops", "")], "torch.ops skipped: SKIP_RETURN_CODE=77")

    def test_sees_cases_that_skip_within_a_test_that_passes(self):
        self.assert_skips([case("ops.1_of_8", GTEST_BRIEF)],
                          "ops.1_of_8 skipped: no bfloat16 products", "ops.1_of_8 skipped: no root")
        self.assert_skips([case("processes.token", UNITTEST)], "processes.token skipped: it's late")
        self.assert_skips([case("processes.token", UNITTEST_BRIEF)],
                          "processes.token skipped: (a case that gives no reason)")

    def test_sees_a_test_that_the_build_disabled(self):
        self.assert_skips([case("package.links", "Disabled", "disabled")], "package.links skipped: disabled")

    def test_leaves_failures_to_ctest(self):
        self.assert_skips([case("a.b", GTEST, "fail"), case("a.c", "", "fail"), skipped("a.d", "", "Unable to find executable")])

    def test_an_entry_excuses_by_name_words_and_machine(self):
        cases = [skipped("torch.cnn_first", "skipped: SHOAL_DATA does not name a folder")]
        self.assertEqual([], self.wrong(cases, "# why\n\nno-data | torch.cnn_* | SHOAL_DATA does not | no MNIST\n", BARE))
        for entries, machine in (("no-data | torch.cnn_* | SHOAL_DATA does not | no MNIST", FULL),
                                 ("no-data | torch.cnn_* | No module named | no torch", BARE),
                                 ("no-root | torch.cnn_* | SHOAL_DATA | it is root", FULL),
                                 ("no-cpu-flag:avx512_bf16 | torch.* | SHOAL_DATA | it has the flag", FULL)):
            self.assertEqual(1, len(self.wrong(cases, entries, machine)), entries)
        self.assertEqual([], self.wrong(cases, "no-cpu-flag:avx512_bf16 | torch.* | SHOAL_DATA | no flag", BARE))
        self.assertEqual([], self.wrong(cases, "no-root | torch.* | SHOAL_DATA | a user", BARE))
        self.assertEqual([], self.wrong(cases, "always | torch.* | SHOAL_DATA | ever", FULL))

    def test_each_case_within_a_test_needs_its_excuse(self):
        wrong = self.wrong([case("ops.1_of_8", GTEST_BRIEF)], "always | ops.* | no bfloat16 products | the processor")
        self.assertEqual(["ops.1_of_8 skipped: no root"], wrong)

    def test_an_entry_for_no_test_is_wrong(self):
        wrong = self.wrong([case("a.b")], "always | a.gone | x | y")
        self.assertEqual(["the list of skips has a.gone, but no test is called so"], wrong)

    def test_refuses_what_it_cannot_read(self):
        for report, entries in (("", ""), ("<testsuite>", ""), ("<testsuite/>", ""),
                                (f"<a>{case('a')}</a>", "always | a | no reason")):
            with self.assertRaises(check_skips.Unreadable):
                check_skips.check(report, check_skips.parse_entries(entries), FULL)
        with self.assertRaises(check_skips.Unreadable):
            self.wrong([skipped("a", "x")], "seldom | a | x | y")

    def test_scripts_whose_cases_may_skip_say_why(self):
        tests = pathlib.Path(__file__).resolve().parents[1]
        silent = []
        for script in tests.rglob("*_test.py"):
            text = script.read_text()
            if script != pathlib.Path(__file__).resolve() and ("skipTest(" in text or "unittest.skip" in text):
                if "verbosity=2" not in text:  # else unittest prints an s in place of the reason
                    silent.append(str(script.relative_to(tests)))
        self.assertEqual([], silent)


if __name__ == "__main__":
    unittest.main()
