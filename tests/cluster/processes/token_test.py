#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs whose tasks know each other by a token (CONTRACT CL-18), and tasks that do not have it."""
import json
import os
import re
import signal
import socket
import unittest

from job import FIVE, FOREVER, Job, JobTest, free_port, make_token, program

STEPS = 200


def own_address():
    """An address of this machine that is not a loopback address, or None. Sends nothing."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            return probe.getsockname()[0]
        except OSError:
            return None


@unittest.skipIf(os.environ.get("SHOAL_TEST_TLS") == "0", "this build has no TLS")
class Token(JobTest):
    def test_a_job_with_a_token_trains(self):
        token = make_token()
        with Job(FIVE, ["--steps", str(STEPS)], token=token) as job:
            tasks = job.start_all()
            job.expect_all_end(tasks)
            self.assertEqual(job.finished()["reason"], "max_steps")
            for process in tasks.values():
                self.assertNotIn(token[:16], process.text())

    def test_a_job_beyond_loopback_trains_with_a_token(self):
        address = own_address()
        if address is None or address.startswith("127."):
            self.skipTest("this machine has loopback addresses only")
        with Job(("ps 0", "chief 0"), ["--steps", str(STEPS)], token=make_token()) as job:
            cluster = {role: [f"{address}:{free_port()}"] for role in ("ps", "chief")}
            tasks = {role: job.start(tf_config=json.dumps({"cluster": cluster, "task": {"type": role, "index": 0}}))
                     for role in cluster}
            job.expect_all_end(tasks)
            for process in tasks.values():
                self.assertNotIn("insecure", process.text())

    def test_without_the_token_nobody_joins(self):
        with Job(("ps 0", "chief 0", "worker 0"), ["--steps", str(FOREVER), "--step-ms", "1"], token=make_token()) as job:
            server = job.start("ps 0")
            job.wait_until_it_listens(server)
            another = make_token()
            self.expect_refusal(job.start("worker 0", SHOAL_TOKEN=another), "has another token", "same token")
            server.wait_for("refused .* it has another token")
            self.expect_refusal(job.start("worker 0", SHOAL_TOKEN=None), "requires the job's token, but this task has none")
            server.wait_for("refused .* it has no token")
            self.assertNotIn(another[:16], "".join(process.text() for process in job.started))

    def test_a_server_without_the_token_is_named(self):
        with Job(("ps 0", "chief 0"), ["--steps", "10"], token=make_token()) as job:
            server = job.start("ps 0", SHOAL_TOKEN=None)
            job.wait_until_it_listens(server)
            self.expect_refusal(job.start("chief 0"), "has no token, but this task has one")
            server.wait_for("refused .* it has a token or a certificate, but this task has neither")

    def test_a_file_holds_the_token(self):
        with Job(("ps 0", "chief 0"), ["--steps", str(STEPS)]) as job:
            file = job.folder / "token"
            file.write_text(make_token() + "\n")
            file.chmod(0o640)
            self.expect_refusal(job.start("chief 0", "--token-file", str(file)), "chmod 600 " + re.escape(str(file)))
            self.assertFalse(job.model_dir.exists())
            file.chmod(0o600)
            job.expect_all_end({"ps 0": job.start("ps 0", SHOAL_TOKEN_FILE=str(file)),
                                "chief 0": job.start("chief 0", "--token-file", str(file))})

    def test_a_launched_job_outlives_its_token_file(self):
        for by_flag in (True, False):
            for changes in (True, False):
                with self.subTest(by_flag=by_flag, changes=changes), Job(flags=["--steps", "600", "--step-ms", "5"]) as job:
                    token = make_token()
                    file, logs = job.folder / "token", job.folder / "logs"
                    file.write_text(token)
                    file.chmod(0o600)
                    command = program("shoal") + ["launch", "--log-dir", str(logs), "--ps", "1", "--workers", "1",
                                                  "--restart-secs", "0.01", "--", *program("trainee")]
                    launch = job.start("local", *(["--token-file", str(file)] if by_flag else []), command=command,
                                       SHOAL_TOKEN_FILE=None if by_flag else str(file))
                    launch.wait_for(r"at step (\d+)")
                    if changes:
                        file.write_text(make_token())
                    else:
                        file.unlink()
                    for task in ("ps-0", "worker-0"):
                        starts = re.findall("starts as process ([0-9]+)", (logs / f"{task}.log").read_text())
                        os.kill(int(starts[0]), signal.SIGKILL)
                    self.assertEqual(launch.wait(), 0)
                    self.assertEqual(len(re.findall(r"\(restart 1 of 5\)", launch.text())), 2)
                    self.assertNotIn("(restart 2 of 5)", launch.text())
                    self.assertEqual(job.finished()["reason"], "max_steps")
                    self.assertNotIn(token[:16], launch.text())

    def test_a_token_with_a_typing_error(self):
        token = make_token()
        wrong = token[:20] + ("a" if token[20] != "a" else "b") + token[21:]
        with Job(("ps 0", "chief 0"), ["--steps", "10"], token=wrong) as job:
            process = job.start("chief 0")
            self.expect_refusal(process, "SHOAL_TOKEN: no token: its checksum differs")
            self.assertNotIn(wrong[:16], process.text())
            self.assertFalse(job.model_dir.exists())

    def test_a_task_listens_where_bind_says(self):
        with Job(("ps 0", "chief 0"), ["--steps", "10"]) as job:
            host, port = job.address("ps 0").split(":")
            server = job.start("ps 0", "--bind", "127.0.0.2")
            server.wait_for(rf"parameter server at tcp://127.0.0.2:{port}")
            with self.assertRaises(ConnectionRefusedError):
                socket.create_connection((host, int(port)))
            self.expect_refusal(job.start("ps 0", "--bind", "::1"), "--bind", "neither host nor host:port")
            self.expect_refusal(job.start("ps 0", "--bind", "0.0.0.0"), "beyond this machine", "shoal keys token")


if __name__ == "__main__":
    unittest.main(verbosity=2)
