#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Inputs that end at different times, and a server that is lost after that: no batch is missing in the last checkpoint, and with
synchronous updates it has the bits of one process that computes for as many trainers (CONTRACT JE-1, OE-2, SY-11).

SHOAL_TEST_TIMES repeats each job. ctest ends the script after three minutes, which is enough for a dozen repetitions; for
more, run the script itself with the environment that `ctest -N -V -R processes.ended` prints."""
import functools
import json
import os
import signal
import unittest

from job import SCALE, Job

TIMES = int(os.environ.get("SHOAL_TEST_TIMES", "1"))  # how often each job is run
TASKS = ("ps 0", "chief 0", "worker 0", "worker 1")
THROUGH = r"this worker is through \(end_of_input\)"


def flags_of(batches, *more):
    return ["--seed", "7", "--batch", "8", "--save-checkpoints-steps", "1000", "--batches", ",".join(map(str, batches)), *more]


def checksums(job):
    """All tensors of the newest checkpoint, which one server has saved, by name."""
    pointer = job.shoal("checkpoint", "list", job.model_dir)["newest"]
    index = json.loads((job.model_dir / (pointer + ".index")).read_text())
    return {tensor["name"]: [piece["checksum"] for piece in tensor["pieces"]] for tensor in index["manifest"]["tensors"]}


@functools.lru_cache(maxsize=None)
def checksums_of_replicas(batches):
    with Job(flags=flags_of(batches, "--replicas", str(len(batches)))) as job:
        job.expect_all_end({"local": job.start()})
        assert job.newest_step() == max(batches)
        return checksums(job)


class Ended(unittest.TestCase):
    def lose_a_server_after_a_workers_end(self, strategy, steps):
        """Worker 0 has come to the end of its input, and the others have not."""
        batches = (120, 20, 100)
        with Job(TASKS, flags_of(batches, "--strategy", strategy, "--step-ms", str(20 * SCALE))) as job:
            tasks = job.start_all()
            tasks["worker 0"].wait_for(THROUGH)
            tasks["ps 0"].kill()
            tasks["ps 0"] = job.start("ps 0")
            tasks["chief 0"].wait_for("global step goes back from")
            self.assertTrue(tasks["worker 0"].runs())
            job.expect_all_end(tasks)
            self.assertEqual(job.newest_step(), steps)
            if strategy == "sync":
                self.assertEqual(checksums(job), checksums_of_replicas(batches))

    def test_no_asynchronous_update_is_missing(self):
        for _ in range(TIMES):
            self.lose_a_server_after_a_workers_end("async", 240)

    def test_no_synchronous_update_is_missing(self):
        for _ in range(TIMES):
            self.lose_a_server_after_a_workers_end("sync", 120)

    def test_a_server_that_is_lost_between_the_workers_ends_and_the_last_save(self):
        batches = (20, 120, 100)
        for _ in range(TIMES):
            with Job(TASKS, flags_of(batches, "--strategy", "sync", "--step-ms", str(5 * SCALE))) as job:
                tasks = job.start_all()
                chief = tasks["chief 0"]
                tasks["ps 0"].wait_for("trainer 0 makes no more pushes")
                chief.signal(signal.SIGSTOP)  # the chief has no more batches, and would save once the workers have none
                for worker in ("worker 0", "worker 1"):
                    tasks[worker].wait_for(THROUGH)
                tasks["ps 0"].kill()
                tasks["ps 0"] = job.start("ps 0")
                chief.signal(signal.SIGCONT)
                job.expect_all_end(tasks)
                self.assertEqual(job.newest_step(), 120)
                self.assertEqual(checksums(job), checksums_of_replicas(batches))


if __name__ == "__main__":
    unittest.main()
