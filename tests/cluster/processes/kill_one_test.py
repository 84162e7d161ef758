#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kill -9 of one task of a job, and the same command again: the job goes on, and ends well (CONTRACT FA-2 to FA-6)."""
import contextlib
import re
import time
import unittest

from job import FIVE, SCALE, Job

STEPS = 3000
STEP_MS = 20 * SCALE  # for each step until the job may hurry: with three trainers, STEPS take 20 s
SAVE_EVERY = 20
KILLS = 3
STEP = r"at step (\d+)"
SAVED = r"written at global step (\d+)"


class KillOne(unittest.TestCase):
    @contextlib.contextmanager
    def training(self, tasks=FIVE):
        """A job whose trainers have all made steps. At the end it may hurry, and all tasks end well, at the last step."""
        with Job(tasks, ["--steps", str(STEPS), "--save-checkpoints-steps", str(SAVE_EVERY), "--throttle-secs", "0"]) as job:
            hurry = job.folder / "hurry"
            job.flags += ["--step-ms", str(STEP_MS), "--hurry", str(hurry)]
            self.job, self.tasks = job, job.start_all()
            for task in tasks:
                if task.startswith(("chief", "worker")):
                    self.tasks[task].wait_for(STEP)
            yield
            self.assertIsNone(job.finished(), "the job was too fast for its test")
            hurry.touch()
            job.expect_all_end(self.tasks)
            self.expect_end()

    def expect_end(self):
        end = self.job.finished()
        self.assertEqual(end["reason"], "max_steps")
        self.assertTrue(STEPS <= end["global_step"] <= STEPS + 2, end)
        if "evaluator 0" in self.tasks:
            last = self.tasks["evaluator 0"].wait_for(r"\nEvaluated at global step (\d+):")
            self.assertTrue(STEPS <= int(last.group(1)) <= end["global_step"], last.group(0))  # the first one ends the job
        if "ps 1" not in self.tasks:  # the shards of several servers differ by the pushes on their way
            self.assertEqual(self.job.newest_step(), end["global_step"])

    def kill(self, task):
        """Waits for a random moment."""
        time.sleep(self.job.numbers.uniform(0, 0.2 * SCALE))
        self.assertTrue(self.tasks[task].runs())
        self.tasks[task].kill()

    def restart(self, task):
        self.tasks[task] = self.job.start(task)
        return self.tasks[task]

    def wait_for_saves(self, count):
        """Waits for that many saves of the chief; returns the step of the last one."""
        chief = self.tasks["chief 0"]
        mark = chief.written()
        for _ in range(count):
            saved = chief.wait_for(SAVED, after=mark)
            mark += saved.end()
        return int(saved.group(1))

    def test_a_worker(self):
        with self.training():
            for _ in range(KILLS):
                self.kill("worker 0")
                before = self.job.newest_step()
                self.assertGreater(self.wait_for_saves(2), before)  # the others go on
                again = self.restart("worker 0")
                self.assertGreater(int(again.wait_for(STEP).group(1)), before)
                self.assertGreater(self.wait_for_saves(1), before)

    def lose(self, server):
        """Kills and restarts that server; each trainer notices, and goes on from the newest checkpoint."""
        marks = {task: self.tasks[task].written() for task in self.tasks if task.startswith(("chief", "worker"))}
        self.kill(server)
        self.restart(server)
        for task in marks:
            marks[task] += self.tasks[task].wait_for("waiting for the parameter servers", after=marks[task]).end()
        chief = self.tasks["chief 0"]
        newest = re.findall(SAVED, chief.lines()[:marks["chief 0"]])[-1]
        restored = self.tasks[server].wait_for(r"model ready at global step (\d+)").group(1)
        self.assertEqual(restored, newest)
        chief.wait_for(SAVED, after=marks["chief 0"])
        for task, mark in marks.items():
            self.tasks[task].wait_for(STEP, after=mark)
        self.wait_for_saves(1)  # the next loss goes back to another step then

    def test_the_parameter_server(self):
        with self.training():
            for _ in range(KILLS):
                self.lose("ps 0")

    def test_one_of_two_parameter_servers(self):
        with self.training(("ps 0", "ps 1", "chief 0", "worker 0")):
            self.lose("ps 0")
            self.lose("ps 1")

    def test_the_chief(self):
        with self.training():
            for _ in range(KILLS):
                self.kill("chief 0")
                before = self.job.newest_step()
                self.assertTrue(all(self.tasks[task].runs() for task in FIVE if task != "chief 0"))
                again = self.restart("chief 0")
                held = again.wait_for(r"the servers still hold the model at global step (\d+)")
                self.assertGreaterEqual(int(held.group(1)), before)
                self.assertGreater(self.wait_for_saves(2), before)

    def test_the_evaluator(self):
        with self.training():
            for _ in range(KILLS):
                self.tasks["evaluator 0"].wait_for(r"evaluation: .*global_step")
                self.kill("evaluator 0")
                self.restart("evaluator 0").wait_for(r"evaluation: .*global_step")

    def test_every_task_in_turn(self):
        with self.training():
            for task in self.job.numbers.sample(FIVE, len(FIVE)):
                self.kill(task)
                self.restart(task)
                self.wait_for_saves(1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
