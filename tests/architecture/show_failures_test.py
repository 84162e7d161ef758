# SPDX-License-Identifier: Apache-2.0
"""That .ci/show_failures.py shows how the failing tests of a run ended, and nothing else."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / ".ci"))
import show_failures  # noqa: E402


def case(name, status, output):
    return f'<testcase name="{name}" status="{status}"><system-out>{output}</system-out></testcase>'


def shown(*cases):
    return show_failures.ends_of_failures(f"<testsuite>{''.join(cases)}</testsuite>")


class ShowFailures(unittest.TestCase):
    def test_shows_the_last_lines_of_who_failed(self):
        output = "".join(f"line {i}\n\n" for i in range(100))
        text, = shown(case("base.a", "run", "fine"), case("base.b", "fail", output), case("base.c", "notrun", "skipped"))
        lines = text.splitlines()
        self.assertEqual(lines[0], "base.b failed, and said last:")
        self.assertEqual(lines[1:], [f"line {i}" for i in range(100 - show_failures.LINES_OF_A_TEST, 100)])

    def test_shows_a_few_of_many(self):
        self.assertEqual(len(shown(*[case(f"base.{i}", "fail", "") for i in range(50)])), show_failures.TESTS_MAX)

    def test_shows_nothing_of_a_run_that_passed(self):
        self.assertEqual(shown(case("base.a", "run", "fine")), [])


if __name__ == "__main__":
    unittest.main()
