#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A job of processes whose master evaluates: it ends by itself, also if the master is killed meanwhile (CONTRACT 8.6)."""
import json
import unittest

from job import Job

TASKS = ("ps 0", "ps 1", "master 0", "worker 0", "worker 1")
FLAGS = ["--throttle-secs", "0", "--json"]


class Master(unittest.TestCase):
    def expect_last_evaluation(self, job, processes, reason):
        end = job.finished()
        self.assertEqual(end["reason"], reason)
        self.assertEqual(end["global_step"], job.newest_step())
        evaluated = json.loads(processes["master 0"].text().splitlines()[-1])
        self.assertEqual(evaluated["global_step"], end["global_step"])
        self.assertGreater(evaluated["accuracy"], 0.4)

    def test_evaluates_the_last_checkpoint(self):
        for flags in ([], ["--strategy", "sync"]):
            with Job(TASKS, [*FLAGS, *flags, "--steps", "200"]) as job:
                processes = job.start_all(order=job.numbers.sample(TASKS, len(TASKS)))
                job.expect_all_end(processes)
                self.expect_last_evaluation(job, processes, "max_steps")
                processes["master 0"].wait_for("evaluation: .*accuracy")
                self.assertNotIn("evaluation: ", processes["worker 0"].text())

    def test_goes_on_after_a_kill(self):
        with Job(TASKS, [*FLAGS, "--stop-above", "0.6", "--step-ms", "2"]) as job:
            processes = job.start_all()
            processes["master 0"].wait_for("evaluation: ")
            processes["master 0"].kill()
            processes["master 0"] = job.start("master 0")
            processes["master 0"].wait_for("the servers still hold the model")
            job.expect_all_end(processes)
            self.expect_last_evaluation(job, processes, "stop_requested")


if __name__ == "__main__":
    unittest.main(verbosity=2)
