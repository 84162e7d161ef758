#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tasks that do not fit together are told why: each in words of its own, and without a long wait."""
import unittest

from job import Job, JobTest

DEADLINE = 5
TASKS = ("ps 0", "chief 0")
FLAGS = ["--steps", "10", "--ready-timeout-secs", "5"]


class Refusals(JobTest):
    def test_auto_against_tcp(self):
        with Job(TASKS, FLAGS) as job:
            server = job.start("ps 0", "--transport", "tcp")
            job.wait_until_it_listens(server)
            self.expect_refusal(job.start("chief 0", "--transport", "auto"), "started with another --transport than auto",
                                "start all tasks of a job with the same")
            self.expect_error(server, DEADLINE, "the last one that came was refused", "another --transport")

    def test_shared_memory_against_tcp(self):
        for one, other in (("shm", "tcp"), ("tcp", "shm")):
            with self.subTest(one), Job(TASKS, FLAGS) as job:
                job.start("ps 0", "--transport", one).wait_for("waiting for the chief")
                self.expect_error(job.start("chief 0", "--transport", other), DEADLINE, "(?:no process answers there|no process listens there)",
                                  "with the same --transport as this task")

    def test_who_was_refused_is_told_at_the_end(self):
        with Job(TASKS, FLAGS) as job:
            server = job.start("ps 0", "--strategy", "sync")
            job.wait_until_it_listens(server)
            self.expect_refusal(job.start("chief 0"), "different update strategy: chief 0 has async, ps 0 has sync")
            self.expect_error(server, DEADLINE, "none was connected", "refused: chief 0: different update strategy")

    def test_paths_that_are_none(self):
        for path, word in (("gs://bucket/m", "mount"), ("s3://bucket/m", "mount"), ("hdfs://name:8020/m", "mount"),
                           ("file:///tmp/m", "write /tmp/m"), ("~/m", r"write \$HOME/m"), ("~", r"write \$HOME")):
            with self.subTest(path), Job(TASKS, FLAGS) as job:
                self.expect_refusal(job.start("local", f"--data-dir={path}"), path, word)
                self.expect_refusal(job.start(tf_config='{"model_dir": "%s"}' % path), path, word)
                job.model_dir = path
                self.expect_refusal(job.start("local"), path, word)


if __name__ == "__main__":
    unittest.main(verbosity=2)
