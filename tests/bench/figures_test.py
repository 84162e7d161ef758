#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/figures: what it writes of programs that say known things, and what it says of two files."""
import json
import pathlib
import stat
import subprocess
import sys
import tempfile
import unittest

FIGURES = pathlib.Path(__file__).resolve().parents[2] / "bench" / "figures"

TRAIN = """#!/bin/sh
echo '{"model":"mlp","batch":1,"threads":1,"step_ms":2.0,"step_ms_least":1.5,"step_ms_most":3.0,"primitives_ms":1.0}'
echo '{"model":"lstm","batch":1,"threads":1,"step_ms":4.0,"step_ms_least":4.0,"step_ms_most":4.0,"primitives_ms":0}'
"""
COMPUTE = """#!/bin/sh
case "$*" in
  --list) printf 'mlp\\n' ;;
  *--plan*) echo '{"arena_bytes": 1000, "lower_bound_bytes": 900}' ;;
  *) echo '{"settings": "", "first_step_ns": 5, "peak_resident_kib": 2}' ;;
esac
"""
TRANSPORT = """#!/bin/sh
echo '{"context": {}, "benchmarks": [
 {"name": "tcp/round_trip/64", "run_type": "iteration", "real_time": 9.5, "time_unit": "us"},
 {"name": "tcp/stream/1024/manual_time", "run_type": "iteration", "real_time": 1, "time_unit": "us", "bytes_per_second": 4e9},
 {"name": "tcp/stream/1024_median", "run_type": "aggregate", "real_time": 1, "time_unit": "us"},
 {"name": "shm/stream", "run_type": "iteration", "error_occurred": true}]}'
"""


class Figures(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name)
        self.addCleanup(self.folder.cleanup)

    def program(self, name, text):
        path = self.path / "build" / "bin" / "bench" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def run_figures(self, *arguments):
        return subprocess.run([sys.executable, "-B", str(FIGURES), *arguments, "--results", str(self.path)],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def record(self, name):
        return self.run_figures("record", name, "--build", str(self.path / "build"))

    def all_programs(self, train=TRAIN):
        self.program("train_bench", train)
        self.program("compute_bench", COMPUTE)
        self.program("transport_bench", TRANSPORT)

    def test_records_what_the_programs_say(self):
        self.all_programs()
        done = self.record("here")
        self.assertEqual(done.returncode, 0, done.stderr)
        told = json.loads((self.path / "here.json").read_text())
        self.assertTrue(told["machine"]["processor"])
        self.assertEqual(told["figures"], {
            "train/mlp/batch 1/threads 1/step": {"value": 2.0, "unit": "ms", "better": "less", "least": 1.5, "most": 3.0},
            "train/mlp/batch 1/threads 1/step over its primitives": {"value": 2.0, "unit": "", "better": "less"},
            "train/lstm/batch 1/threads 1/step": {"value": 4.0, "unit": "ms", "better": "less", "least": 4.0, "most": 4.0},
            "memory/mlp/batch 32/plan": {"value": 1000, "unit": "B", "better": "less"},
            "memory/mlp/batch 32/most resident": {"value": 2048, "unit": "B", "better": "less"},
            "transport/tcp/round_trip/64": {"value": 9.5, "unit": "us", "better": "less"},
            "transport/tcp/stream/1024": {"value": 4.0, "unit": "GB/s", "better": "more"}})

    def test_a_program_that_fails_leaves_no_file(self):
        self.all_programs(train="#!/bin/sh\nexit 3\n")
        done = self.record("here")
        self.assertEqual(done.returncode, 1)
        self.assertIn("train_bench", done.stderr)
        self.assertEqual(list(self.path.glob("*.json")), [])

    def test_says_which_programs_are_missing(self):
        self.program("train_bench", TRAIN)
        done = self.record("here")
        self.assertEqual(done.returncode, 1)
        self.assertIn("lacks compute_bench, transport_bench", done.stderr)

    def write(self, name, figures):
        (self.path / (name + ".json")).write_text(json.dumps(
            {"format": 1, "commit": "c", "machine": {"processor": "P " + name, "cores": 2}, "figures": figures}))

    def test_compares(self):
        ms, rate = {"unit": "ms", "better": "less"}, {"unit": "GB/s", "better": "more"}
        self.write("a", {"train/x": {"value": 1, **ms}, "train/y": {"value": 4, **ms}, "transport/z": {"value": 2, **rate}})
        self.write("b", {"train/x": {"value": 2, **ms}, "train/y": {"value": 2, **ms}, "transport/z": {"value": 1, **rate},
                         "train/new": {"value": 1, **ms}})
        done = self.run_figures("compare", "a", "b")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"A: P a, 2 cores")
        self.assertRegex(done.stdout, r"train/x +1 +2 ms +2\.000")
        self.assertRegex(done.stdout, r"train/y +4 +2 ms +0\.500")
        self.assertRegex(done.stdout, r"transport/z +2 +1 GB/s +2\.000")
        self.assertIn("train: geometric mean of 2 ratios 1.000", done.stdout)
        self.assertIn("only in B: train/new", done.stdout)
        strict = self.run_figures("compare", "a", "b", "--worse-than", "1.5")
        self.assertEqual(strict.returncode, 1)
        self.assertIn("worse than 1.5: train/x: 2.000", strict.stdout)

    def test_refuses_what_holds_no_figures(self):
        self.write("a", {"train/x": {"value": 1, "unit": "ms", "better": "less"}})
        self.assertIn("there is no", self.run_figures("compare", "a", "missing").stderr)
        for text in ("", "[]", "{}", '{"format": 2}', '{"format": 1, "machine": {}, "figures": {}}',
                     '{"format": 1, "machine": {"processor": "", "cores": 1}, "figures": {"x": {"value": "1"}}}'):
            (self.path / "bad.json").write_text(text)
            done = self.run_figures("compare", "a", "bad")
            self.assertEqual(done.returncode, 1, text)
            self.assertIn("bad.json", done.stderr)
            self.assertNotIn("Traceback", done.stderr)


if __name__ == "__main__":
    unittest.main()
