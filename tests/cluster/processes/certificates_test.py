#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs whose tasks have a certificate each, and tasks that come with a certificate of another task or CA."""
import os
import unittest

from job import FIVE, FOREVER, Authority, Job, JobTest, make_token

STEPS = 200


@unittest.skipIf(os.environ.get("SHOAL_TEST_TLS") == "0", "this build has no TLS")
class Certificates(JobTest):
    def test_a_job_with_certificates_trains(self):
        for flags in ([], ["--transport", "auto"]):
            with self.subTest(flags=flags), Job(FIVE, ["--steps", str(STEPS), *flags]) as job:
                authority = Authority(job.folder / "keys")
                tasks = {task: job.start(task, "--tls-dir", authority.tls_dir(task)) for task in FIVE}
                job.expect_all_end(tasks)
                self.assertEqual(job.finished()["reason"], "max_steps")
                for process in tasks.values():
                    self.assertNotIn("refused", process.text())

    def test_a_job_goes_on_when_impostors_come(self):
        tasks = ("ps 0", "chief 0", "worker 0", "worker 1")
        with Job(tasks, ["--steps", str(FOREVER), "--step-ms", "1"]) as job:
            authority, other = Authority(job.folder / "keys"), Authority(job.folder / "other")
            server, chief = (job.start(task, "--tls-dir", authority.tls_dir(task)) for task in tasks[:2])
            job.wait_until_it_listens(server)

            # A task of another CA: each side refuses the other.
            self.expect_refusal(job.start("worker 0", "--tls-dir", other.tls_dir("worker 0")),
                              "its certificate is not from a CA that this task trusts", "shoal keys task --ca")
            server.wait_for("refused .* it refuses this task's certificate: it trusts another CA, or has a token")
            # A task of another CA, although it trusts this CA's server.
            mixed = job.folder / "mixed"
            mixed.mkdir()
            for name in ("task.pem", "task.key"):
                (mixed / name).write_bytes((job.folder / "other" / "worker-0" / name).read_bytes())
                (mixed / name).chmod(0o600)
            (mixed / "ca.pem").write_text("".join((job.folder / ca / "ca" / "ca.pem").read_text() for ca in ("keys", "other")))
            self.expect_refusal(job.start("worker 0", SHOAL_TLS_DIR=str(mixed)), "it refuses this task's certificate")
            server.wait_for("refused .* its certificate is not from a CA that this task trusts")
            # Tasks with a token, and with nothing.
            self.expect_refusal(job.start("worker 0", SHOAL_TOKEN=make_token()), "has a certificate, but this task has a token")
            self.expect_refusal(job.start("worker 0"), "requires a certificate, but this task has none")

            # The job is not disturbed, and accepts its own tasks.
            chief.wait_for("written at global step", after=chief.written())
            worker = job.start("worker 0", "--tls-dir", authority.tls_dir("worker 0"))
            worker.wait_for(r"step \d+")
            self.assertTrue(server.runs() and chief.runs() and worker.runs())

    def test_a_certificate_is_of_one_task(self):
        with Job(("ps 0", "chief 0", "worker 0"), ["--steps", str(FOREVER)]) as job:
            authority = Authority(job.folder / "keys")
            for task, owner in (("worker 0", "evaluator 0"), ("worker 0", "worker 1"), ("chief 0", "worker 0"), ("ps 0", "chief 0")):
                self.expect_refusal(job.start(task, "--tls-dir", authority.tls_dir(owner)),
                                  f"this task is {task}, and its certificate .* is that of {owner}; make it one of its own")
            self.assertFalse(job.model_dir.exists())

    def test_a_certificate_or_a_token(self):
        with Job(("ps 0", "chief 0"), ["--steps", "10"], token=make_token()) as job:
            authority = Authority(job.folder / "keys")
            self.expect_refusal(job.start("ps 0", "--tls-dir", authority.tls_dir("ps 0")),
                              r"both certificates .* and a token \(SHOAL_TOKEN\) are given", "leave out the token")


if __name__ == "__main__":
    unittest.main(verbosity=2)
