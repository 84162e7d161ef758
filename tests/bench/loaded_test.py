#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What bench/loaded prints for figures that are known, from programs that stand in for the benchmarks."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

LOADED = pathlib.Path(__file__).resolve().parents[2] / "bench" / "loaded"

# Takes the first line of a file of times; two of them may run at once.
TRAIN_BENCH = """#!/usr/bin/env python3
import fcntl, json, pathlib, sys
times = pathlib.Path(__file__).with_name("times")
with open(times, "r+") as file:
    fcntl.flock(file, fcntl.LOCK_EX)
    first, *others = file.read().splitlines()
    file.seek(0)
    file.truncate()
    file.write("".join(line + "\\n" for line in others))
print("a line for people")
print(json.dumps({"step_ms": float(first), "asked": sys.argv[1:]}))
"""


class LoadedTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = pathlib.Path(folder.name)
        self.programs = self.build / "bin" / "bench"

    def stand_in(self, times):
        self.programs.mkdir(parents=True)
        for name, text in ("train_bench", TRAIN_BENCH), ("compute_bench", "#!/bin/sh\necho mlp\n"):
            (self.programs / name).write_text(text)
            (self.programs / name).chmod(0o755)
        (self.programs / "times").write_text("".join(f"{time}\n" for time in times))

    def run_loaded(self, *flags):
        return subprocess.run([sys.executable, LOADED, "--build", self.build, *flags], capture_output=True, text=True,
                              timeout=60)

    def test_medians_of_rounds_in_turn_and_shares(self):
        # Alone and beside a busy program, three times in turn; then alone and two at once, three times.
        self.stand_in([2, 3, 4, 9, 2, 3] + [1, 2, 2, 1, 4, 4, 1, 2, 2])
        done = self.run_loaded("--batches", "8", "--rounds", "3", "--seconds", "0.01")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = [line.split() for line in done.stdout.splitlines()]
        self.assertEqual(rows[1], ["mlp", "8", "2.000", "3.000", "1.50"])
        self.assertEqual(rows[3], ["mlp", "32", "0.50", "0.50"])

    def test_programs_that_fail_end_it(self):
        self.stand_in([1])  # there is no second time to take
        done = self.run_loaded("--batches", "8", "--rounds", "1")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("train_bench ended with status 1", done.stderr)

    def test_without_programs_it_says_what_builds_them(self):
        done = self.run_loaded()
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("./dev bench loaded builds it", done.stderr)


if __name__ == "__main__":
    unittest.main()
