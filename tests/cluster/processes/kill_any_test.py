#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kill -9 of any task at any moment of a short job, its start and its end among them (CONTRACT 21)."""
import os
import signal
import time
import unittest

from job import FIVE, FOREVER, SCALE, Job

JOBS = 6
KILLS_MAX = 3
STEPS = 120
TRAINER_KILLS = int(os.environ.get("SHOAL_TEST_KILLS", "20"))  # of one job with two servers; more by hand
LAST_SECONDS_MAX = 90 * SCALE  # a chief killed after its job's end looks for its servers, which are gone, for 60 s


class KillAny(unittest.TestCase):
    def run_job(self, kill_some):
        flags = ["--steps", str(STEPS), "--save-checkpoints-steps", "20", "--throttle-secs", "0", "--step-ms", "2"]
        with Job(FIVE, flags) as job:
            self.job = job
            self.tasks = job.start_all(order=job.numbers.sample(FIVE, len(FIVE)))
            kill_some()
            job.expect_all_end(self.tasks, seconds=LAST_SECONDS_MAX)
            end = job.finished()
            self.assertEqual(end["reason"], "max_steps")
            self.assertEqual(end["global_step"], job.newest_step())
            self.assertTrue(STEPS <= end["global_step"] <= STEPS + 2, end)

    def kill_one_that_runs(self):
        running = [task for task, process in self.tasks.items() if process.runs()]
        if self.over():
            running = [task for task in running if not task.startswith(("chief", "ps"))]
        if not running:
            return
        victim = self.job.numbers.choice(running)
        self.tasks[victim].kill()
        if victim == "ps 0" and self.over():
            del self.tasks[victim]  # nobody needs this task any more, and a restarted one would wait in vain
        else:
            self.tasks[victim] = self.job.start(victim)

    def over(self):
        return (self.job.model_dir / "training_finished").exists()

    def test_at_any_moment(self):
        def kill_some():
            for _ in range(KILLS_MAX):
                time.sleep(self.job.numbers.uniform(0, 0.5 * SCALE))
                self.kill_one_that_runs()

        for _ in range(JOBS):
            self.run_job(kill_some)

    def test_near_the_end(self):
        def kill_some():
            self.tasks["chief 0"].wait_for(r"step 1[12]\d\n")  # one of the last ten, or the last checkpoint
            time.sleep(self.job.numbers.uniform(0, 0.08 * SCALE))
            self.kill_one_that_runs()

        for _ in range(JOBS):
            self.run_job(kill_some)

    def test_trainers_of_two_servers(self):
        """An update is applied by both servers or by none (CONTRACT PSV-4), whenever its trainer dies."""
        tasks = ("ps 0", "ps 1", "chief 0", "worker 0", "worker 1")
        with Job(tasks, ["--steps", str(FOREVER), "--save-checkpoints-steps", "50"]) as job:
            running = job.start_all()
            for _ in range(TRAINER_KILLS):
                time.sleep(job.numbers.uniform(0, 0.3 * SCALE))
                victim = job.numbers.choice(tasks[2:])
                self.assertTrue(running[victim].runs(), victim)
                running[victim].kill()
                running[victim] = job.start(victim)
            for task in tasks[2:]:
                running[task].wait_for(r"step = \d+")
            running["chief 0"].signal(signal.SIGTERM)
            job.expect_all_end(running)
            step = job.newest_step()
            counters = job.shoal("checkpoint", "show", job.model_dir / f"model.ckpt-{step}")["counters"]
            self.assertEqual(counters, {"update_count/0": step, "update_count/1": step})


if __name__ == "__main__":
    unittest.main(verbosity=2)
