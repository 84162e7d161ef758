#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whole jobs whose processes talk through shared memory, of which nothing is left when they end, however they end."""
import json
import os
import pathlib
import resource
import signal
import unittest

from job import FIVE, SCALE, Job

STEPS = 200
STEP_MS = 20 * SCALE
STEP = r"at step (\d+)"
HEARTBEAT_SECS = 0.3 * SCALE


def names_of(job):
    """The abstract sockets that servers of `job` listen on."""
    listed = pathlib.Path("/proc/net/unix").read_text()
    return [task for task in FIVE if task.startswith("ps") and f"@shoal/{os.geteuid()}/{job.address(task)}\n" in listed]


def small_files():
    """Files may be large enough for the trainee's checkpoints, but not for a segment of shared memory (ulimit -f)."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))


class SharedMemory(unittest.TestCase):
    def test_a_job_of_processes_ends_as_over_tcp(self):
        with Job(FIVE, ["--steps", str(STEPS), "--transport", "shm", "--json"]) as job:
            tasks = job.start_all()
            job.expect_all_end(tasks)
            end = job.finished()
            self.assertEqual(end["global_step"], job.newest_step())
            evaluated = json.loads(tasks["evaluator 0"].text().splitlines()[-1])
            self.assertGreater(evaluated["accuracy"], 0.6)
            self.assertEqual(names_of(job), [])

    def test_tasks_find_out_that_they_are_on_one_machine(self):
        with Job(FIVE, ["--steps", str(STEPS), "--transport", "auto", "--json"]) as job:
            tasks = job.start_all()
            job.expect_all_end(tasks)
            self.assertEqual(job.finished()["global_step"], job.newest_step())

    def test_a_limit_of_file_sizes_is_named(self):
        with Job(("ps 0", "chief 0"), ["--steps", str(STEPS), "--transport", "shm"]) as job:
            for task in ("ps 0", "chief 0"):
                process = job.start(task, limit=small_files)
                self.assertEqual(process.wait(), 1, process.text())
                self.assertRegex(process.text(), r"error: .*raise the limit of file sizes \(ulimit -f\), or use --transport tcp")

    def test_a_limit_of_file_sizes_leaves_tasks_tcp(self):
        with Job(("ps 0", "chief 0", "worker 0"), ["--steps", str(STEPS), "--transport", "auto"]) as job:
            tasks = {task: job.start(task, limit=small_files) for task in ("ps 0", "chief 0", "worker 0")}
            job.expect_all_end(tasks)
            self.assertEqual(job.finished()["reason"], "max_steps")

    def test_whoever_is_killed_comes_back(self):
        with Job(FIVE, ["--steps", "3000", "--transport", "shm", "--save-checkpoints-steps", "20"]) as job:
            hurry = job.folder / "hurry"
            job.flags += ["--step-ms", str(STEP_MS), "--hurry", str(hurry)]
            tasks = job.start_all()
            for task in ("worker 0", "ps 0", "worker 1"):
                for trainer in ("chief 0", "worker 0", "worker 1"):
                    mark = tasks[trainer].written()
                    tasks[trainer].wait_for(STEP, after=mark)
                self.assertEqual(names_of(job), ["ps 0"])
                tasks[task].kill()
                tasks[task] = job.start(task)
            tasks["worker 1"].wait_for(STEP)
            hurry.touch()
            job.expect_all_end(tasks)
            self.assertEqual(job.finished()["reason"], "max_steps")
            self.assertEqual(names_of(job), [])

    def test_a_frozen_worker_is_gone_for_the_others_and_finds_the_end_when_it_thaws(self):
        for transport in ("shm", "auto"):
            with self.subTest(transport=transport), Job(("ps 0", "chief 0", "worker 0"), ["--steps", "100000"]) as job:
                job.flags += ["--transport", transport, "--heartbeat-secs", str(HEARTBEAT_SECS), "--step-ms", str(STEP_MS)]
                tasks = job.start_all()
                worker = tasks.pop("worker 0")
                worker.wait_for(STEP)
                tasks["chief 0"].wait_for(STEP)
                worker.signal(signal.SIGSTOP)
                tasks["ps 0"].wait_for(r"connection of worker 0 ended: .*the peer has been silent for")
                tasks["chief 0"].signal(signal.SIGINT)
                job.expect_all_end(tasks)
                self.assertEqual(job.finished()["reason"], "interrupted")
                worker.signal(signal.SIGCONT)
                job.expect_all_end({"worker 0": worker})


if __name__ == "__main__":
    unittest.main(verbosity=2)
