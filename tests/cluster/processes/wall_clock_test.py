#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Processes whose wall clocks go back an hour, or a year ahead: nothing is lost, all order stays (CONTRACT RU-5, EST-13)."""
import os
import pathlib
import re
import unittest

from job import Job

LIBRARY = os.environ["SHOAL_TEST_WALL_CLOCK"]  # built from wall_clock.cc
JUMPS = (-3600, 365 * 24 * 3600)
KEPT = 3
FLAGS = ["--throttle-secs", "0", "--exports", str(KEPT)]


class WallClock(unittest.TestCase):
    def start(self, job, *flags, task="local", clock="clock"):
        """A process whose clock turn() sets."""
        return job.start(task, *flags, LD_PRELOAD=LIBRARY, SHOAL_TEST_CLOCK_FILE=str(job.folder / clock))

    def turn(self, job, seconds, clock="clock"):
        new = job.folder / (clock + ".new")
        new.write_text(str(seconds))
        new.rename(job.folder / clock)

    def exported_steps(self, job, exporter):
        return [export["global_step"] for export in job.shoal("export", "list", job.model_dir / "export" / exporter)["exports"]]

    def expect_order(self, job, steps):
        """The folder after evaluations of `steps`: all that is kept is there, and the newest is the last."""
        self.assertEqual(self.exported_steps(job, "latest"), steps[-KEPT:])
        newest = job.shoal("export", "show", job.model_dir / "export" / "latest")
        self.assertEqual(newest["global_step"], steps[-1])
        self.assertEqual(job.newest_step(), steps[-1])
        self.assertEqual(self.evaluated_steps(job), steps)
        best = self.exported_steps(job, "best")
        self.assertEqual(best, sorted(set(best)))

    def evaluated_steps(self, job):
        """The steps in the order of the event files."""
        lines = job.shoal_lines("events", job.model_dir / "eval", "--tag", "loss")
        return [line["step"] for line in lines]

    def test_a_clock_that_is_another_one_at_each_start(self):
        for jump in JUMPS:
            with self.subTest(jump), Job(flags=FLAGS) as job:
                steps = []
                for last, seconds in ((20, 0), (40, jump), (60, -jump), (80, 0)):
                    self.turn(job, seconds)
                    self.assertEqual(self.start(job, "--steps", str(last)).wait(), 0)
                    steps += [last - 10, last]
                    self.expect_order(job, steps)

    def test_a_clock_that_jumps_in_training(self):
        for jump in JUMPS:
            with self.subTest(jump), Job(flags=FLAGS) as job:
                process = self.start(job, "--steps", "60", "--step-ms", "5", "--hurry", str(job.folder / "hurry"))
                for step, seconds in ((15, jump), (35, 0)):
                    process.wait_for(rf"at step {step}\n")
                    self.turn(job, seconds)
                (job.folder / "hurry").touch()
                self.assertEqual(process.wait(), 0)
                self.expect_order(job, [10, 20, 30, 40, 50, 60])

    def test_two_evaluators_of_which_one_has_another_clock(self):
        for jump in JUMPS:
            tasks = ("ps 0", "chief 0", "evaluator 0")
            with self.subTest(jump), Job(tasks, ["--throttle-secs", "0", "--exports", "1000", "--steps", "100"]) as job:
                self.turn(job, jump)
                evaluators = [job.start("evaluator 0"), self.start(job, task="evaluator 0")]
                others = [job.start("ps 0"), job.start("chief 0", "--step-ms", "10")]
                for process in evaluators + others:
                    self.assertEqual(process.wait(), 0)
                made = [re.findall(r"export latest: (\S+)$", process.text(), re.MULTILINE) for process in evaluators]
                for paths in made:
                    self.assertEqual(paths, sorted(paths))
                listed = job.shoal("export", "list", job.model_dir / "export" / "latest")["exports"]
                self.assertEqual([export["path"] for export in listed], sorted(made[0] + made[1]), "nothing is lost")
                steps = {export["path"]: export["global_step"] for export in listed}
                for paths in made:
                    of_one = [steps[path] for path in paths]
                    self.assertEqual(of_one, sorted(of_one))
                self.assertEqual(listed[-1]["global_step"], 100)
                self.assertEqual(pathlib.Path(listed[-1]["path"]).name, max(pathlib.Path(path).name for path in steps))


if __name__ == "__main__":
    unittest.main(verbosity=2)
