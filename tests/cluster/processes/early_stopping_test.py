#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A job of processes that an evaluation ends: its trainers, servers and evaluator leave by themselves (CONTRACT HK-12)."""
import json
import re
import unittest

from job import FIVE, Job

TRAINERS = ("chief 0", "worker 0", "worker 1")
SIX = FIVE + ("ps 1",)


class EarlyStopping(unittest.TestCase):
    def stopped(self, tasks, *flags):
        """The steps at which the trainers of a job without another end have stopped."""
        with Job(tasks, ["--stop-above", "0.6", "--throttle-secs", "0", "--json", *flags]) as job:
            processes = job.start_all(order=job.numbers.sample(tasks, len(tasks)))
            job.expect_all_end(processes)
            end = job.finished()
            self.assertEqual(end["reason"], "stop_requested")
            self.assertEqual(end["global_step"], job.newest_step())
            evaluated = json.loads(processes["evaluator 0"].text().splitlines()[-1])
            self.assertEqual(evaluated["global_step"], end["global_step"])
            processes["chief 0"].wait_for(r"early stopping at global step \d+: accuracy was 0\.\d+")
            finished = r"training finished at global step (\d+)"
            steps = [int(re.findall(finished, processes[task].text())[-1]) for task in TRAINERS]
            self.assertEqual(max(steps), end["global_step"])
            return steps

    def test_asynchronous_trainers_stop_within_a_step(self):
        for tasks in (FIVE, SIX):
            steps = self.stopped(tasks)
            # The chief decides after a step of its own; by the time that the others hear of it each has at most the
            # step that it is at and the one that it began meanwhile.
            self.assertLess(max(steps) - min(steps), 2 * len(TRAINERS), steps)

    def test_synchronous_trainers_stop_at_one_step(self):
        for tasks in (FIVE, SIX):
            steps = self.stopped(tasks, "--strategy", "sync")
            self.assertEqual(len(set(steps)), 1, steps)


if __name__ == "__main__":
    unittest.main(verbosity=2)
