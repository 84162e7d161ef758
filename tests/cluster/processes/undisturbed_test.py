#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A job of five processes that nobody disturbs ends by itself (CONTRACT 8.7)."""
import json
import unittest

from job import FIVE, Job

STEPS = 200
TRAINERS = 3


class Undisturbed(unittest.TestCase):
    def test_all_end_with_status_0_whatever_starts_first(self):
        for _ in range(3):
            with Job(FIVE, ["--steps", str(STEPS), "--json"]) as job:
                tasks = job.start_all(order=job.numbers.sample(FIVE, len(FIVE)))
                job.expect_all_end(tasks)
                end = job.finished()
                last = job.newest_step()
                self.assertEqual(end["reason"], "max_steps")
                self.assertEqual(end["global_step"], last)
                self.assertTrue(STEPS <= last < STEPS + TRAINERS, last)  # CONTRACT WO-3
                evaluated = json.loads(tasks["evaluator 0"].text().splitlines()[-1])
                self.assertEqual(evaluated["global_step"], last)
                self.assertGreater(evaluated["accuracy"], 0.6)

    def test_a_second_run_finds_nothing_to_do(self):
        with Job(FIVE, ["--steps", str(STEPS)]) as job:
            job.expect_all_end(job.start_all())
            end = job.finished()
            again = job.start_all()
            job.expect_all_end(again)
            again["chief 0"].wait_for("nothing to do")
            self.assertEqual(job.finished()["checkpoint"], end["checkpoint"])

    def test_all_but_the_chief_started_again_after_the_end_of_their_run(self):
        """SHOAL_RUN tells the tasks that the start was theirs, although they would train further (CONTRACT JE-2)."""
        with Job(FIVE) as job:
            job.expect_all_end({task: job.start(task, "--steps", str(STEPS), SHOAL_RUN="night 1") for task in FIVE})
            end = job.finished()
            self.assertEqual((end["run"], end["shoal_run"]), (1, "night 1"))
            flags = ["--steps", str(2 * STEPS), "--ready-timeout-secs", "8"]  # a server alone waits half of it
            again = {task: job.start(task, *flags, SHOAL_RUN="night 1") for task in FIVE if task != "chief 0"}
            job.expect_all_end(again)
            for process in again.values():
                self.assertNotIn("was left by a run", process.text())


if __name__ == "__main__":
    unittest.main(verbosity=2)
