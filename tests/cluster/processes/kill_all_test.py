#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kill -9 of a whole job, again and again: the newest checkpoint is always whole, and the same command goes on from it
(CONTRACT CK-4, FA-1, FA-2)."""
import re
import signal
import time
import unittest

from job import FIVE, FOREVER, SCALE, Job

KILLS = 20
SAVE_EVERY = (5, 5, 100)  # steps; often, so that many kills meet a save
SAVES_MAX = 3  # before a kill, and after it
TRAIN_SECONDS_MAX = 0.1 * SCALE
MORE_STEPS = 100  # for the last run, which is not killed


class KillAll(unittest.TestCase):
    def kill_and_start_again(self, tasks, leader, *flags):
        saving, traces = 0, set()
        with Job(tasks, flags) as job:
            newest = None
            for _ in range(KILLS):
                every = job.numbers.choice(SAVE_EVERY)
                running = job.start_all("--steps", str(FOREVER), "--save-checkpoints-steps", str(every))
                self.expect_resumed(running[leader], newest)
                self.wait_for_saves(running[leader], job.numbers.randint(1, SAVES_MAX), newest or 0)
                time.sleep(job.numbers.uniform(0, TRAIN_SECONDS_MAX))
                self.kill(job, running)
                before, traces = traces, job.traces_of_saves()
                saving += bool(traces - before)
                before, newest = newest or 0, job.newest_step()
                self.assertGreater(newest, before)
                self.assertIsNone(job.finished())
            running = job.start_all("--steps", str(newest + MORE_STEPS))
            self.expect_resumed(running[leader], newest)
            job.expect_all_end(running)
            end = job.finished()
            self.assertEqual(end["reason"], "max_steps")
            self.assertEqual(end["global_step"], job.newest_step())
            self.assertTrue(newest + MORE_STEPS <= end["global_step"] <= newest + MORE_STEPS + 2, end)
            print(f"{KILLS} kills up to step {newest}, {saving} of them while a checkpoint was written; "
                  f"SHOAL_TEST_SEED={job.seed}")

    def wait_for_saves(self, process, count, step):
        """Waits until the job is that many steps beyond `step`: it trains."""
        mark = 0
        for _ in range(count):
            mark += process.wait_for(rf"written at global step (?!{step}\D)\d+", after=mark).end()

    def kill(self, job, running):
        """Kills all tasks at once, as far as that is possible."""
        victims = job.numbers.sample(list(running.values()), len(running))
        for process in victims:
            self.assertTrue(process.runs(), process.name)
            process.signal(signal.SIGKILL)
        for process in victims:
            self.assertEqual(process.wait(), -signal.SIGKILL)

    def expect_resumed(self, process, step):
        if step is None:
            return  # the first run
        found = process.wait_for(r"restored from checkpoint (\S+) at global step (\d+)|nothing to do")
        self.assertEqual(found.group(2), str(step), found.group())
        self.assertRegex(found.group(1), re.escape(f"/m/model.ckpt-{step}") + "$")

    def test_a_local_job(self):
        self.kill_and_start_again((), "local")

    def test_five_processes(self):
        self.kill_and_start_again(FIVE, "chief 0", "--throttle-secs", "0")


if __name__ == "__main__":
    unittest.main(verbosity=2)
