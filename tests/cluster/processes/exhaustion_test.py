#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Memory, threads, descriptors and locks that a system does not give: each end is a sentence and a documented status, never an
abort or a hang. A few steps for each role; tests/long/job_exhaustion.py takes twenty."""
import errno
import os
import unittest

from job import Job, JobTest, program
from limits import ROLES, FailingCall, amounts, end_under, memory, threads

STEPS = 3
LARGE = ["--units", "300000"]  # a model for which a server works on a thread beside the one that serves
ENOTSUPP = 524  # an error number of the kernel alone, which some file systems pass on


class Exhaustion(JobTest):
    def sweep(self, kind, roles=ROLES, steps=STEPS, flags=()):
        for role in roles:
            for amount in amounts(role, kind, steps, flags):
                with self.subTest(role=role, **{kind: amount}):
                    end_under(role, kind, amount, flags)

    def test_memory(self):
        self.sweep("memory")

    def test_descriptors(self):
        self.sweep("descriptors")

    @unittest.skipIf(os.geteuid() != 0, "only root can be a user that has no other processes")
    def test_threads(self):
        self.sweep("threads")

    def test_memory_of_a_server(self):
        self.sweep("memory", roles=("ps",), steps=8, flags=LARGE)

    @unittest.skipIf(os.geteuid() != 0, "only root can be a user that has no other processes")
    def test_a_server_without_a_thread_for_its_work_ends_and_the_job_does_not_end_well(self):
        with Job(("ps 0", "chief 0"), flags=["--steps", "10", *LARGE, "--ready-timeout-secs", "4"]) as job:
            job.model_dir.mkdir()
            for folder in (job.folder, job.model_dir):
                folder.chmod(0o777)
            server = job.start("ps 0", limit=threads(2))
            chief = job.start("chief 0")
            self.expect_error(server, 1, r"a thread could not be started: .*2 threads and processes of this user \(ulimit -u\)")
            self.expect_error(chief, 5, "waiting for parameter server")
            chief.wait_for("ulimit -u")  # the server's own words
            self.assertFalse((job.model_dir / "training_finished").exists())

    def test_the_limit_is_named(self):
        with Job(flags=["--steps", "10"]) as job:
            job.folder.chmod(0o777)
            for mebibytes in range(60, 140, 2):
                process = job.start("local", limit=memory(mebibytes))
                if process.wait() == 0:
                    break
                if "error while loading" not in process.text() and "error: " in process.text():
                    self.assertRegex(process.text(), r"error: .*ulimit -v")
            self.assertEqual(process.wait(), 0, "no limit is large enough")

    @unittest.skipUnless(FailingCall.works(), "calls of the system have other numbers here")
    def test_a_file_system_without_locks(self):
        for number in (ENOTSUPP, errno.EIO, errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS):
            with self.subTest(number=number), Job(flags=["--steps", "10"]) as job:
                process = job.start("local", limit=FailingCall("flock", number))
                self.assertEqual(process.wait(), 0, process.text())
                process.wait_for("is not protected against a second run: cannot lock .* its file system has no locks.*mount it")

    def test_a_launcher_does_not_start_what_can_never_be(self):
        with Job(flags=["--steps", "10", "--units", str(10**11)]) as job:
            launch = program("shoal") + ["launch", "--no-logs", "--ps", "1", "--workers", "1", "--"]
            process = job.start("local", command=launch + program("trainee"), TMPDIR=str(job.folder))
            self.assertEqual(process.wait(), self.INVALID, process.text())
            self.assertRegex(process.text(), r"error: the model, .* takes at least \d+ MiB of memory, and this process may have")
            self.assertNotIn("started again", process.text())

    def test_a_model_beyond_all_memory(self):
        for units in (10**11, 10**14, 4 * 10**18):
            with self.subTest(units=units), Job(flags=["--steps", "10", "--units", str(units)]) as job:
                self.expect_refusal(job.start("local"), "dense/kernel|dimension|elements|memory")


if __name__ == "__main__":
    unittest.main(verbosity=2)
