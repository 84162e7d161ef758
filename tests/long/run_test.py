#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `run` says and how it ends, with small scripts in place of those that train."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
PREAMBLE = f"import sys; sys.path.insert(0, {str(HERE)!r}); import outcome\n"
FOUND = '{"bits": "00ff", "expected": "00ff", "other_steps": [], "seconds": 1.25, "how": "some words"}'


class Run(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="shoal-run-test-")
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def write(self, name, body):
        (self.folder / f"{name}.py").write_text(PREAMBLE + body)

    def run_all(self, *names):
        programs = {f"SHOAL_TEST_{name}": "sh" for name in ("SHOAL", "MNIST", "TRAINEE", "BITS", "CSV_FIELDS", "DATA_TESTS")}
        ended = subprocess.run([sys.executable, "-B", str(HERE / "run"), "--scripts", str(self.folder), *names], text=True,
                               env=os.environ | programs, timeout=60, stdin=subprocess.DEVNULL, capture_output=True)
        return ended.returncode, ended.stdout, ended.stderr

    def test_all_is_well(self):
        self.write("by_first", f"outcome.end_with(lambda: {FOUND})")
        self.write("job_second", "outcome.end_with(lambda: {'seconds': 2, 'how': 'other words'})")
        status, out, err = self.run_all()
        self.assertEqual(status, 0, err)
        self.assertRegex(out, r"(?m)^first +same +00ff +1\.2  some words$")
        self.assertRegex(out, r"(?m)^second +fine +2\.0  other words$")
        self.assertRegex(out, r"2 run in \d+ s, nothing wrong")

    def test_other_weights_are_told(self):
        self.write("by_first", f"outcome.end_with(lambda: {FOUND})")
        self.write("by_second", "outcome.end_with(lambda: {})".format(FOUND.replace("[]", "[7]").replace("00ff", "00fe", 1)))
        status, out, _ = self.run_all()
        self.assertEqual(status, 1)
        self.assertRegex(out, r"(?m)^second +DIFFERENT +00fe .*expected were 00ff, and steps \[7\] have others$")
        self.assertIn("wrong: second", out)
        self.assertEqual(self.run_all("first")[0], 0)

    def test_what_is_missing_is_no_failure_and_an_error_is(self):
        self.write("by_first", "outcome.end_with(lambda: outcome.needs({'no-such-program': 'some-package', 'sh': 'dash'}))")
        self.write("by_second", "raise AssertionError('a sentence')")
        status, out, err = self.run_all()
        self.assertEqual(status, 1)
        self.assertRegex(out, r"(?m)^first +skipped +install the Debian package some-package$")
        self.assertRegex(out, r"(?m)^second +FAILED ")
        self.assertIn("AssertionError: a sentence", err)
        self.assertEqual(self.run_all("first")[0], 0)

    def test_a_name_that_is_none(self):
        self.write("by_first", "")
        status, _, err = self.run_all("second")
        self.assertEqual(status, 2)
        self.assertIn("there is no second, but: first", err)

    def test_nothing_outlives_a_script(self):
        self.write("by_first", f"""
import subprocess
def body():
    child = subprocess.Popen(["sh", "-c", "sleep 1000 & echo $!; wait"], stdout=subprocess.PIPE, text=True,
                             start_new_session=True)
    grandchild = child.stdout.readline().strip()
    child.kill()
    return {FOUND} | {{"how": grandchild}}
outcome.end_with(body)""")
        status, out, err = self.run_all()
        self.assertEqual(status, 0, err)
        grandchild = out.splitlines()[1].split()[-1]
        self.assertFalse(pathlib.Path(f"/proc/{grandchild}").exists())


if __name__ == "__main__":
    unittest.main(verbosity=2)
