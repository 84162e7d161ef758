#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""SIGINT and SIGTERM: a checkpoint, the end mark, status 0 (CONTRACT FA-12)."""
import signal
import time
import unittest

from job import FIVE, FOREVER, SCALE, Job

SECONDS_MAX = 15 * SCALE
STEP = r"at step (\d+)"


class Signals(unittest.TestCase):
    def expect_interrupted(self, job):
        end = job.finished()
        self.assertEqual(end["reason"], "interrupted")
        self.assertEqual(job.newest_step(), end["global_step"])
        self.assertGreater(end["global_step"], 0)

    def job(self, tasks=()):
        return Job(tasks, ["--steps", str(FOREVER), "--save-checkpoints-steps", str(FOREVER), "--step-ms", "5",
                           "--throttle-secs", "0"])

    def test_a_local_job_saves_and_ends(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number), self.job() as job:
                process = job.start()
                process.wait_for(STEP)
                process.signal(number)
                self.assertEqual(process.wait(SECONDS_MAX), 0)
                self.expect_interrupted(job)

    def test_it_goes_on_from_there(self):
        with self.job() as job:
            process = job.start()
            process.wait_for(STEP)
            process.signal(signal.SIGTERM)
            process.wait(SECONDS_MAX)
            step = job.newest_step()
            again = job.start()
            again.wait_for(rf"restored from checkpoint \S+ at global step {step}\n")
            again.wait_for(STEP)
            self.assertIsNone(job.finished())

    def test_a_cluster_of_threads(self):
        with self.job() as job:
            process = job.start("local", "--cluster", "ps:2,worker:2,evaluator")
            process.wait_for("worker 1: " + STEP)
            process.signal(signal.SIGTERM)
            self.assertEqual(process.wait(SECONDS_MAX), 0)
            self.assertEqual(job.finished()["reason"], "interrupted")

    def test_all_of_five_processes(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number), self.job(FIVE) as job:
                running = self.trains(job)
                for process in running.values():
                    process.signal(number)
                job.expect_all_end(running, seconds=SECONDS_MAX)
                self.expect_interrupted(job)

    def test_the_chief_alone_ends_the_job(self):
        with self.job(FIVE) as job:
            running = self.trains(job)
            running["chief 0"].signal(signal.SIGTERM)
            job.expect_all_end(running, seconds=SECONDS_MAX)
            self.expect_interrupted(job)

    def test_a_worker_alone_leaves(self):
        with self.job(FIVE) as job:
            running = self.trains(job)
            running["worker 0"].signal(signal.SIGTERM)
            self.assertEqual(running.pop("worker 0").wait(SECONDS_MAX), 0)
            marks = {task: running[task].written() for task in ("chief 0", "worker 1")}
            for task, mark in marks.items():
                running[task].wait_for(STEP, after=mark)  # the other tasks go on
            running["chief 0"].signal(signal.SIGTERM)
            job.expect_all_end(running, seconds=SECONDS_MAX)
            self.expect_interrupted(job)

    def test_an_evaluator_alone_leaves(self):
        with self.job(FIVE) as job:
            running = self.trains(job)
            running["evaluator 0"].wait_for("evaluation: .*global_step")
            running["evaluator 0"].signal(signal.SIGTERM)
            self.assertEqual(running["evaluator 0"].wait(SECONDS_MAX), 0)

    def test_servers_go_on_serving_until_the_end(self):
        with self.job(FIVE) as job:
            running = self.trains(job)
            running["ps 0"].signal(signal.SIGTERM)
            mark = running["chief 0"].written()
            running["chief 0"].wait_for(STEP, after=mark)
            running["chief 0"].signal(signal.SIGTERM)
            job.expect_all_end(running, seconds=SECONDS_MAX)
            self.expect_interrupted(job)

    def test_a_deserted_server_counts_as_lost(self):
        with self.job(("ps 0", "chief 0")) as job:
            server = job.start("ps 0")
            server.wait_for("waiting for the chief")
            server.signal(signal.SIGTERM)
            self.assertEqual(server.wait(SECONDS_MAX), 1)

    def test_while_it_waits_for_others(self):
        for task in ("chief 0", "worker 0", "evaluator 0"):
            with self.subTest(task), self.job(FIVE) as job:
                process = job.start(task)
                if task == "evaluator 0":
                    process.wait_for("evaluation: missing")
                else:
                    job.wait_until_it_listens(process)
                process.signal(signal.SIGTERM)
                self.assertEqual(process.wait(SECONDS_MAX), 0)

    def test_a_second_signal_ends_at_once(self):
        with Job(flags=["--steps", "10", "--step-ms", str(10 * 1000 * SCALE)]) as job:
            process = job.start()
            process.wait_for(STEP)
            process.signal(signal.SIGTERM)
            begun = time.monotonic()
            time.sleep(0.6)  # within half a second they would count as one
            process.signal(signal.SIGINT)
            self.assertEqual(process.wait(SECONDS_MAX), 128 + signal.SIGINT)
            self.assertLess(time.monotonic() - begun, 5 * SCALE)

    def trains(self, job):
        running = job.start_all()
        for task in ("chief 0", "worker 0", "worker 1"):
            running[task].wait_for(STEP)
        running["evaluator 0"].wait_for("evaluation: ")  # from then on the evaluator heeds signals
        return running


if __name__ == "__main__":
    unittest.main(verbosity=2)
