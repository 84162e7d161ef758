#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`shoal tune` as its users meet it: searches of a tiny program, which are killed, started twice, and find their folder damaged.

SHOAL_TEST_SHOAL names the program shoal, SHOAL_TEST_TUNED the tiny program.
"""
import csv
import json
import os
import pathlib
import pty
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

SHOAL = os.environ["SHOAL_TEST_SHOAL"]
TUNED = os.environ["SHOAL_TEST_TUNED"]
DEADLINE = 120 * int(os.environ.get("SHOAL_TEST_TIMEOUT_SCALE") or 1)


def until(condition, what):
    end = time.monotonic() + DEADLINE
    while time.monotonic() < end:
        if (value := condition()):
            return value
        time.sleep(0.005)
    raise AssertionError(f"{what}: not within {DEADLINE} s")


class Search(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="shoal-tune-"))
        self.dir = self.folder / "s"
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def command(self, *options, program=(TUNED,), directory=None):
        return [SHOAL, "tune", "--dir", str(directory or self.dir), *map(str, options), "--", *map(str, program)]

    def tune(self, *options, status=0, **more):
        done = subprocess.run(self.command(*options, **more), capture_output=True, text=True, timeout=DEADLINE, cwd=self.folder)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def start(self, *options, **more):
        return subprocess.Popen(self.command(*options, **more), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                cwd=self.folder)

    def journal(self):
        path = self.dir / "search.jsonl"
        if not path.exists():
            return []
        lines = path.read_bytes().split(b"\n")[:-1]  # What stands behind the last end of a line is being written.
        return [json.loads(line) for line in lines]

    def records(self, kind):
        return [record for record in self.journal() if record["record"] == kind]

    def table(self):
        with open(self.dir / "trials.csv", newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def check_each_trial_once(self, count):
        self.assertEqual([record["trial"] for record in self.records("created")], list(range(count)))
        ended = sorted(record["trial"] for record in self.records("ended") if record["outcome"] != "retry")
        self.assertEqual(ended, list(range(count)))

    def processes(self):
        """The processes that train in the folder of the search."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            try:
                words = (entry / "cmdline").read_bytes() if entry.name.isdigit() else b""
            except OSError:
                continue
            if f"--model-dir={self.dir}".encode() in words:
                found.append(int(entry.name))
        return found

    def test_finds_the_best_of_a_grid(self):
        done = self.tune("--algorithm", "grid", "--param", "learning-rate=0.001|0.01|0.5", "--param", "batch=4|8", "--json")
        results = json.loads(done.stdout)
        rows = self.table()
        self.assertEqual(len(rows), 6)
        best = min(rows, key=lambda row: float(row["value"]))
        self.assertEqual(results["best"]["trial"], int(best["trial"]))
        self.assertEqual(results["best"]["parameters"]["learning-rate"], "0.5")
        self.assertEqual({row["state"] for row in rows}, {"complete"})
        self.assertEqual([row["step"] for row in rows], ["20"] * 6)
        for row in rows:  # What each trial itself says.
            report = json.loads((self.dir / "trials" / f"{int(row['trial']):04}" / "report.json").read_text())
            self.assertAlmostEqual(report["loss"], float(row["value"]), places=9)
            self.assertEqual(report["flags"]["learning-rate"], float(row["param.learning-rate"]))
            self.assertEqual(report["flags"]["batch"], int(row["param.batch"]))
        self.assertTrue((self.dir / "best" / "export.json").exists())
        self.assertFalse(os.readlink(self.dir / "best").startswith("/"))
        predicted = subprocess.run([SHOAL, "predict", str(self.dir / "best")], input="x\n0.5\n", capture_output=True, text=True)
        self.assertEqual(predicted.returncode, 0, predicted.stderr)

    def test_shows_what_it_does(self):
        done = self.tune("--param", "learning-rate=0.01..0.5:log", "--trials", 3)
        self.assertIn("[tune] trial 0: learning-rate ", done.stderr + done.stdout)
        self.assertIn("The best of 3 trials is trial ", done.stdout)
        self.assertEqual(self.tune("--param", "learning-rate=0.01..0.5:log", "--trials", 3, "--quiet").stderr, "")

    def test_is_the_same_again_and_takes_more_trials(self):
        options = ("--param", "learning-rate=0.01..0.5:log", "--seed", 5)
        self.tune(*options, "--trials", 3)
        first = self.table()
        self.tune(*options, "--trials", 5)
        self.assertEqual(self.table()[:3], first)
        self.check_each_trial_once(5)
        other = self.folder / "other"
        self.tune(*options, "--trials", 5, "--parallel", 3, directory=other)
        with open(other / "trials.csv", newline="", encoding="utf-8") as file:
            values = [row["param.learning-rate"] for row in csv.DictReader(file)]
        self.assertEqual(values, [row["param.learning-rate"] for row in self.table()])

    def test_is_killed_and_loses_nothing(self):
        options = ("--param", "learning-rate=0.01..0.5:log", "--trials", 8, "--parallel", 2)
        program = (TUNED, "--slow", 15, "--save-checkpoints-steps", 5)
        for kill in range(4):
            search = self.start(*options, program=program)
            until(lambda: len(self.records("ended")) >= kill, f"{kill} trials that have ended")
            until(lambda: self.processes() or search.poll() is not None, "a trial that runs")
            search.kill()
            search.communicate()
        self.tune(*options, program=program)
        self.check_each_trial_once(8)
        self.assertEqual({row["step"] for row in self.table()}, {"20"})
        self.assertEqual({row["state"] for row in self.table()}, {"complete"})

    def test_a_killed_search_takes_its_trials_along(self):
        search = self.start("--param", "learning-rate=0.1|0.2", "--parallel", 2, program=(TUNED, "--slow", 50, "--steps", 100000))
        until(lambda: len(self.processes()) == 2, "two trials")
        search.kill()
        search.communicate()
        until(lambda: not self.processes(), "no trial is left")

    def test_waits_for_an_old_process_and_resumes_within_a_second(self):
        options = ("--param", "learning-rate=0.1|0.2", "--parallel", 2)
        program = (TUNED, "--slow", 50, "--steps", 200, "--save-checkpoints-steps", 10)
        search = self.start(*options, program=program)
        until(lambda: len(list(self.dir.glob("trials/*/model.ckpt-*.index"))) >= 2, "checkpoints")
        search.kill()
        search.communicate()

        def holders():
            return [path.read_text() for path in sorted(self.dir.glob("trials/*/.running"))]

        before, begun = holders(), time.monotonic()
        search = self.start(*options, program=program)
        until(lambda: all(new and new != old for new, old in zip(holders(), before)), "new processes of the same trials")
        seconds = time.monotonic() - begun
        self.assertEqual(len(self.records("started")), 4)
        search.send_signal(signal.SIGTERM)  # A test in the background inherits that SIGINT is ignored.
        output = search.communicate()[0]
        self.assertEqual(search.returncode, 143, output)
        print(f"resumed after {seconds:.2f} s")
        self.assertLess(seconds, 1 * int(os.environ.get("SHOAL_TEST_TIMEOUT_SCALE") or 5))
        self.assertEqual([row["state"] for row in self.table()], ["waiting", "waiting"])
        interrupted = self.records("interrupted")
        self.assertEqual(sorted(record["trial"] for record in interrupted), [0, 1])
        self.assertTrue(all(record["seconds"] > 0 for record in interrupted), interrupted)
        logs = [(self.dir / "trials" / f"{trial:04}" / "log.txt").read_text() for trial in (0, 1)]
        for log in logs:
            self.assertNotIn("error", log)

    def test_a_program_that_cannot_be_started_ends_the_search_and_loses_no_trial(self):
        program = self.folder / "program"
        program.write_bytes(b"this is no program\n")
        program.chmod(0o755)
        options = ("--param", "learning-rate=0.1|0.2|0.3|0.4", "--algorithm", "grid", "--parallel", 2)
        for _ in range(2):
            refused = self.tune(*options, program=(program,), status=2)
            self.assertIn("trial 0 cannot be started", refused.stderr)
        self.assertEqual(self.records("ended"), [])
        program.unlink()
        program.symlink_to(TUNED)
        self.tune(*options, program=(program,))
        self.check_each_trial_once(4)
        self.assertEqual({row["state"] for row in self.table()}, {"complete"})

    def test_shows_results_even_if_the_link_to_the_best_cannot_be_made(self):
        (self.dir / "best" / "of all").mkdir(parents=True)
        done = self.tune("--param", "learning-rate=0.1", "--trials", 1, status=2)
        self.assertIn("cannot make the link", done.stderr)
        self.assertIn("The best of 1 trials is trial 0", done.stdout)
        (self.dir / "best" / "of all").rmdir()
        (self.dir / "best").rmdir()
        self.tune("--param", "learning-rate=0.1", "--trials", 1)
        self.assertTrue((self.dir / "best" / "export.json").exists())
        self.check_each_trial_once(1)

    def test_ends_with_an_error_once_its_folder_is_removed(self):
        program = self.folder / "program.py"
        program.write_text("import os, shutil, sys\n"
                           "folder = os.path.dirname(os.environ['SHOAL_REPORT_FILE'])\n"
                           "shutil.rmtree(folder if sys.argv[1] == 'trial' else os.path.dirname(os.path.dirname(folder)))\n"
                           "sys.exit(2)\n")
        for what, sentence in (("search", "is not the folder of this search any more"), ("trial", "trials/0000 of trial 0 was removed")):
            with self.subTest(what=what):
                done = self.tune("--param", "x=1|2", "--algorithm", "grid", "--parallel", 1, program=("/usr/bin/python3", program, what),
                                 status=2)
                self.assertIn(sentence, done.stderr)
                self.assertNotIn("failed", done.stdout + done.stderr)
                self.assertEqual(self.records("ended"), [])
                self.assertEqual(self.dir.exists(), what == "trial")

    def test_refuses_a_second_search_naming_the_first(self):
        search = self.start("--param", "learning-rate=0.1", program=(TUNED, "--slow", 50, "--steps", 100000))
        until(self.processes, "a trial")
        second = self.tune("--param", "learning-rate=0.1", program=(TUNED, "--slow", 50, "--steps", 100000), status=1)
        self.assertIn(f"process {search.pid}", second.stderr)
        search.send_signal(signal.SIGTERM)
        self.assertEqual(search.wait(DEADLINE), 143)
        search.stdout.close()

    def test_refuses_another_search_in_its_folder(self):
        self.tune("--param", "learning-rate=0.1", "--trials", 1)
        refused = self.tune("--param", "learning-rate=0.2", "--trials", 1, status=2)
        self.assertIn("its space is learning-rate=0.1, and now is to be learning-rate=0.2", refused.stderr)

    def test_refuses_a_damaged_journal_with_its_line(self):
        self.tune("--param", "learning-rate=0.1|0.2", "--trials", 2)
        path = self.dir / "search.jsonl"
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join(lines[:2] + ["garbage\n"] + lines[3:]))
        refused = self.tune("--param", "learning-rate=0.1|0.2", "--trials", 2, status=4)
        self.assertIn("search.jsonl, line 3", refused.stderr)
        path.write_text("".join(lines)[:-7])  # A torn end is none.
        self.tune("--param", "learning-rate=0.1|0.2", "--trials", 2)
        self.check_each_trial_once(2)

    def test_refuses_a_journal_that_is_missing_or_cut_beside_its_trials(self):
        self.tune("--param", "learning-rate=0.1|0.2", "--trials", 2)
        path = self.dir / "search.jsonl"
        lines = path.read_text().splitlines(keepends=True)
        path.unlink()
        refused = self.tune("--param", "learning-rate=0.3", "--trials", 1, status=2)
        self.assertIn("search.jsonl is missing: it has no record of trial 1", refused.stderr)
        path.write_text(lines[0])
        self.assertIn("search.jsonl is cut", self.tune("--param", "learning-rate=0.1|0.2", "--trials", 2, status=2).stderr)
        path.write_text("".join(lines))  # The sentence says to put it back.
        self.tune("--param", "learning-rate=0.1|0.2", "--trials", 2)

    def test_starts_again_what_fails_and_goes_on_without_what_cannot_work(self):
        self.tune("--algorithm", "grid", "--param", "fail=once|always|usage|nan|never", "--retries", 1)
        rows = self.table()
        self.assertEqual([row["state"] for row in rows], ["complete", "failed", "failed", "failed", "complete"])
        self.assertEqual([row["attempts"] for row in rows], ["2", "2", "1", "1", "1"])
        aborted = [record for record in self.records("ended") if record["trial"] == 0][0]
        self.assertEqual((aborted["outcome"], aborted["status"]), ("retry", 128 + signal.SIGABRT))
        self.assertIn("it was ended by signal 6 (Aborted)", aborted["error"])
        self.assertIn("this trial always fails", rows[1]["error"])
        self.assertIn("this trial can never work", rows[2]["error"])
        self.assertEqual([row["status"] for row in rows], ["0", "1", "2", "3", "0"])
        self.assertEqual(rows[3]["value"], "nan")

    def test_fails_if_all_trials_fail(self):
        done = self.tune("--param", "learning-rate=0.1|0.2", program=(TUNED, "--fail", "usage"), status=1)
        self.assertIn("trial 0: this trial can never work", done.stderr)
        self.tune("--param", "learning-rate=0.1", "--metric", "accuracy", status=1, directory=self.folder / "other")

    def test_ends_the_worse_trials_early(self):
        self.tune("--algorithm", "asha", "--param", "learning-rate=1e-6..0.5:log", "--trials", 16, "--min-steps", 5, "--max-steps", 45,
                  program=(TUNED, "--slow", 4))
        rows = self.table()
        self.check_each_trial_once(16)
        states = [row["state"] for row in rows]
        self.assertGreater(states.count("stopped"), 4)
        self.assertGreater(states.count("complete"), 0)
        best = min((row for row in rows if row["state"] == "complete"), key=lambda row: float(row["value"]))
        self.assertEqual(best["step"], "45")
        for record in self.records("observed"):
            self.assertIn(record["rung"], (0, 1))
        # The verdicts, worked out again from the observations.
        seen = {}
        for record in self.records("observed"):
            values = seen.setdefault(record["rung"], [])
            values.append(record["value"])
            better = sum(value < record["value"] for value in values)
            self.assertEqual(record["verdict"] == "go on", better < max(1, len(values) // 3))

    def test_ends_a_trial_whose_time_is_over(self):
        self.tune("--param", "learning-rate=0.1", "--time-limit", 3,
                  program=(TUNED, "--slow", 20, "--steps", 100000, "--save-checkpoints-steps", 5, "--throttle-secs", 0))
        self.assertEqual(self.table()[0]["state"], "stopped")
        self.assertEqual(self.table()[0]["error"], "its time was over")

    def test_runs_no_more_trials_than_the_memory_holds(self):
        options = ("--param", "learning-rate=0.1|0.2|0.3", "--parallel", 3)
        program = (TUNED, "--slow", 30, "--save-checkpoints-steps", 5, "--throttle-secs", 0)
        self.tune(*options, "--memory", "1MiB", program=program)
        kinds = [record["record"] for record in self.journal() if record["record"] in ("started", "ended")]
        self.assertEqual(kinds, ["started", "ended"] * 3)
        other = self.folder / "other"
        self.tune(*options, "--memory", "64GiB", program=program, directory=other)
        lines = [json.loads(line) for line in (other / "search.jsonl").read_text().splitlines()]
        kinds = [record["record"] for record in lines if record["record"] in ("started", "ended")]
        self.assertEqual(kinds, ["started"] * 3 + ["ended"] * 3)

    def test_refuses_what_it_cannot_do(self):
        empty = subprocess.run([SHOAL, "tune", "--dir", "", "--param", "steps=1|2", "--", TUNED], capture_output=True, text=True)
        self.assertEqual((empty.returncode, "--dir: is the empty string; give a path" in empty.stderr), (2, True))
        for options, program, sentence in (
                ((), (TUNED,), "there is no parameter"),
                (("--param", "x"), (TUNED,), "no NAME=VALUES"),
                (("--param", "model-dir=a|b"), (TUNED,), "cannot be searched"),
                (("--param", "steps=1|2"), (TUNED, "--model-dir", "m"), "leave it out"),
                (("--param", "steps=1|2"), (TUNED, "--steps=3"), "leave one out"),
                (("--param", "steps=1|2"), (TUNED, "--param", "steps=3"), "leave one out"),
                (("--param", "steps=1|2"), (TUNED, "--param=steps=3"), "leave one out"),
                (("--param", "quiet=true|false"), (TUNED, "--no-quiet"), "leave one out"),
                (("--param", "model_dir=a|b"), (TUNED,), "cannot be searched"),
                (("--param", "steps=1|2", "--metric", "profit"), (TUNED,), "--goal"),
                (("--param", "steps=1|2", "--algorithm", "bayes"), (TUNED,), "there are grid, random, asha"),
                (("--param", "learning-rate=0..1", "--algorithm", "asha"), (TUNED,), "--max-steps"),
                (("--param", "learning-rate=0..1", "--algorithm", "grid"), (TUNED,), "a grid needs to know"),
                (("--param", "steps=1|2", "--space", "f"), (TUNED,), "exclude each other"),
                (("--space", "nowhere.json"), (TUNED,), "nowhere.json"),
                (("--param", "steps=1|2"), ("./nowhere",), "there is no such program"),
                (("--param", "steps=1|2", "--parallel", 2), (TUNED, "--metrics", "9400"), "give port 0"),
                (("--param", "steps=1|2"), (), "stands behind --")):
            with self.subTest(options=options):
                self.assertIn(sentence, self.tune(*options, program=program, status=2).stderr)
                self.assertFalse(self.dir.exists())

    def test_searches_a_program_of_another_kind(self):
        """A program that is none of Shoal's: it takes flags, and writes a report."""
        program = self.folder / "other.py"
        program.write_text("import json, os, sys\nflags = dict(word[2:].split('=', 1) for word in sys.argv[1:])\n"
                           "json.dump({'loss': (float(flags['x']) - 3) ** 2, 'trial': os.environ['SHOAL_TRIAL']}, "
                           "open(os.environ['SHOAL_REPORT_FILE'], 'w'))\n")
        self.tune("--algorithm", "grid", "--param", "x=1..5:int", program=("/usr/bin/python3", program))
        self.assertEqual([float(row["value"]) for row in self.table()], [4, 1, 0, 1, 4])

    def test_launches_jobs(self):
        done = self.tune("--param", "learning-rate=0.05|0.1", "--launch", "--ps 1 --workers 1", "--json", "--trials", 2)
        self.assertEqual({row["state"] for row in self.table()}, {"complete"}, done.stderr)
        self.assertIn("[worker 0]", (self.dir / "trials" / "0000" / "log.txt").read_text())

    def test_shows_a_table_on_a_narrow_terminal(self):
        terminal, other = pty.openpty()
        os.system(f"stty cols 20 rows 10 < {os.ttyname(other)}")
        environment = dict(os.environ, TERM="xterm")
        search = subprocess.Popen(self.command("--param", "learning-rate=0.01..0.5", "--trials", 3), stdout=other, stderr=other,
                                  env=environment, cwd=self.folder)
        os.close(other)
        written = b""
        while True:
            try:
                piece = os.read(terminal, 65536)
            except OSError:
                break
            if not piece:
                break
            written += piece
        os.close(terminal)
        self.assertEqual(search.wait(DEADLINE), 0, written)
        self.assertIn(b"The best of 3 trials", written)

    def test_says_that_a_folder_cannot_be_made(self):
        (self.folder / "file").write_text("not a folder", encoding="utf-8")  # Root, too, makes no folder in a file.
        done = self.tune("--param", "learning-rate=0.1", directory=self.folder / "file" / "s", status=2)
        self.assertIn(f"{self.folder}/file", done.stderr)

    def test_does_200_trials_fast(self):
        begun = time.monotonic()
        self.tune("--param", "learning-rate=0.01..0.5:log", "--trials", 200, "--parallel", 2, "--quiet", program=(TUNED, "--quiet"))
        print(f"200 trials in {time.monotonic() - begun:.1f} s")
        self.check_each_trial_once(200)


if __name__ == "__main__":
    unittest.main()
