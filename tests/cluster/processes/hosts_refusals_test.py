#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`shoal launch --hosts`: mistakes that a user has to correct, secrets, and copies of the program."""
import os
import pathlib
import socket
import subprocess
import time
import unittest

from hosts import HostsTest
from job import SCALE, Job, program


class HostsRefusals(HostsTest):
    # Mistakes that a user has to correct.

    def expect_refusal(self, ended, *sentence, status=2):
        self.assertEqual(ended.returncode, status, ended.stderr)
        errors = [line for line in ended.stderr.splitlines() if line.startswith("shoal: ")]
        self.assertEqual(len(errors), 1, ended.stderr)
        for part in sentence:
            self.assertRegex(errors[0], part)
        self.assertFalse(self.started("chief"))
        self.expect_nothing_left()

    def test_an_unknown_host_key_is_refused(self):
        config = self.folder / "config"
        self.sshd.write_client_config(config, "/dev/null")
        ended = self.run_to_end(["--ps", "1"], self.script(""), ssh=self.sshd.ssh(config))
        self.expect_refusal(ended, "127.0.0.1: its host key is not known here", f"ssh -F {config} -p {self.sshd.port} 127.0.0.1")

    def test_a_changed_host_key_is_refused(self):
        config, known = self.folder / "config", self.folder / "known"
        other = (self.sshd.folder / "user_key.pub").read_text().split()
        known.write_text(f"[127.0.0.1]:{self.sshd.port} {other[0]} {other[1]}\n")
        self.sshd.write_client_config(config, known)
        ended = self.run_to_end([], self.script(""), ssh=self.sshd.ssh(config))
        self.expect_refusal(ended, "127.0.0.1: its host key is not the one that is known here")

    def test_who_is_not_let_in_is_told_how(self):
        ended = self.run_to_end([], self.script(""), hosts=f"nobody@127.0.0.1:{self.sshd.port}\n")
        self.expect_refusal(ended, "127.0.0.1: does not let you in without a password", "ssh-copy-id")

    def test_an_unreachable_host_is_a_sentence_within_a_deadline(self):
        begun = time.monotonic()
        with socket.create_server(("127.0.0.4", 0)) as silent:  # This server never sends anything.
            hosts = f"127.0.0.1:{self.sshd.port}\n127.0.0.2:1\n127.0.0.4:{silent.getsockname()[1]}\n"
            ended = self.run_to_end(["--ps", "1", "--workers", "2"], self.script(""), hosts=hosts)
        self.assertLess(time.monotonic() - begun, 25 * SCALE)
        self.expect_refusal(ended, "127.0.0.2: cannot be reached .*refused", "The same or worse holds for 127.0.0.4", status=1)

    def test_a_program_that_is_not_there(self):
        ended = self.run_to_end([], ["./no-such-program"])
        self.expect_refusal(ended, "127.0.0.1: ./no-such-program: there is no such program .*--copy")

    def test_a_folder_that_is_not_there(self):
        ended = self.run_to_end(["--remote-dir", "/no/such"], self.script(""))
        self.expect_refusal(ended, "127.0.0.1: there is no folder /no/such; --remote-dir names another one")

    def test_an_address_that_a_single_host_does_not_know(self):
        hosts = f"127.0.0.1:{self.sshd.port} address=no-such-host.invalid\n"
        ended = self.run_to_end(["--ps", "1"], self.script(""), hosts=hosts)
        self.expect_refusal(ended, "127.0.0.1: does not know the name no-such-host.invalid; address=NUMBERS behind 127.0.0.1 in")

    # Secrets.

    def test_the_token_is_in_no_command_line_and_no_log(self):
        if os.environ.get("SHOAL_TEST_TLS") != "1":
            self.skipTest("this build has no tokens")
        logs = self.folder / "logs"
        task = self.script("umask 077; echo $SHOAL_TOKEN > token-$role.new; mv token-$role.new token-$role; wait_for go")
        launch = self.start(["--ps", "1", "--log-dir", str(logs)], task)
        tokens = [self.folder / "token-chief", self.folder / "token-ps"]
        self.wait_until(lambda: all(token.exists() for token in tokens), "no token")
        token, other = (file.read_text().strip() for file in tokens)
        self.assertRegex(token, "^shoal1-.{48}$")
        self.assertEqual(token, other)
        ssh = self.command_lines()
        own = {pid for pid, line in ssh.items() if b"BatchMode=yes" in line and os.fsencode(self.sshd.client_config) in line}
        self.assertEqual(len(own), 2)
        for pid, line in ssh.items():
            self.assertNotIn(token.encode(), line, pid)
            if pid in own:
                self.assertNotIn(b"SHOAL_", pathlib.Path(f"/proc/{pid}/environ").read_bytes())
        for file in self.tmp.rglob("*"):
            self.assertNotIn(token, file.read_text() if file.is_file() else "", file)
        (self.folder / "go").touch()
        self.assertEqual(launch.wait(), 0)
        for file in [self.folder / "output", *logs.iterdir()]:
            self.assertNotIn(token, file.read_text(), file)

    def command_lines(self):
        lines = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                lines[int(pid)] = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
            except OSError:
                pass  # The process has ended.
        return lines

    def test_a_dry_run_shows_no_secret_and_reaches_nobody(self):
        if os.environ.get("SHOAL_TEST_TLS") != "1":
            self.skipTest("this build has no tokens")
        token = subprocess.run(program("shoal") + ["keys", "token"], text=True, capture_output=True, check=True).stdout.strip()
        ended = self.run_to_end(["--ps", "1", "--dry-run"], ["train", "a b"], hosts="pi@board1\nboard2 slots=2\n",
                                variables={"SHOAL_TOKEN": token})
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertNotIn(token, ended.stdout + ended.stderr)
        self.assertRegex(ended.stdout, r"(?s)# chief 0 on board1; there, in \S+, it runs\n#   TF_CONFIG=.* train 'a b'\nssh -F "
                                       r".*-oBatchMode=yes .*-oStrictHostKeyChecking=yes .* pi@board1 'exec /bin/sh")

    # Copies.

    def test_a_copied_program_runs_and_is_removed(self):
        program_file = self.folder / "my program"
        program_file.write_text('#!/bin/sh\necho "I am $0 with $1"\n')
        program_file.chmod(0o755)
        ended = self.run_to_end(["--ps", "1", "--copy"], [str(program_file), "x"])
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertRegex(ended.stdout, rf"\[chief 0\] I am {self.tmp}/shoal-launch-\S+/my program with x")
        self.expect_nothing_left()

    def test_where_no_copy_can_be_written(self):
        ended = self.run_to_end(["--copy", "--remote-tmp", "/proc"], program("trainee"))
        self.expect_refusal(ended, "127.0.0.1: no folder can be made for the job: mkdir: .*; --remote-tmp names another place")

    def test_a_full_disk_is_a_sentence(self):
        full = self.folder / "full"
        full.mkdir()
        mounted = os.geteuid() == 0 and subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(full)],
                                                       capture_output=True).returncode == 0
        if not mounted:
            self.skipTest("no small file system can be mounted here")
        self.addCleanup(subprocess.run, ["umount", str(full)], check=True)
        ended = self.run_to_end(["--copy", "--remote-tmp", str(full)], program("trainee"))
        self.expect_refusal(ended, "127.0.0.1: the program cannot be written: .*No space left", "--remote-tmp names another")
        self.assertEqual(list(full.iterdir()), [])

    def test_a_whole_job_by_a_copy(self):
        with Job() as job:
            ended = self.run_to_end(["--ps", "1", "--copy"], self.trainee(job, "--steps", "20"))
            self.assertEqual(ended.returncode, 0, ended.stderr)
            self.assertEqual(job.newest_step(), 20)
        self.expect_nothing_left()


if __name__ == "__main__":
    unittest.main(verbosity=2)
