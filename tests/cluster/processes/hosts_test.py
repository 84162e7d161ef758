#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`shoal launch --hosts`: jobs on three machines, which are three addresses of this one, by an ssh server of the test's."""
import json
import re
import signal
import socket
import unittest

from hosts import HostsTest
from job import FOREVER, SCALE, SECONDS_MAX, Job
from sshd import MACHINES

STEP = r"\[chief 0\] .*at step (\d+)"


class Hosts(HostsTest):
    # Jobs.

    def test_a_job_over_three_hosts(self):
        with Job() as job:
            logs = self.folder / "logs"
            ended = self.run_to_end(["--ps", "1", "--workers", "2", "--evaluator", "--log-dir", str(logs)],
                                    self.trainee(job, "--steps", "300", "--strategy", "sync", "--throttle-secs", "0",
                                                 "--save-checkpoints-steps", "100"))
            self.assertEqual(ended.returncode, 0, ended.stderr)
            self.assertEqual(job.newest_step(), 300)
            self.assertEqual(job.finished()["reason"], "max_steps")
            self.assertRegex(ended.stdout.splitlines()[-1], r"^Evaluated at global step 300: accuracy 0\.\d+")
            self.assertIn("[launch] 5 tasks on 3 hosts", ended.stderr)
            for task in ("chief 0", "ps 0", "worker 0", "worker 1", "evaluator 0"):
                self.assertIn(f"[{task}] ", ended.stderr)
            hosts = {file.stem: re.search(r" starts on (\S+) as process", file.read_text())[1] for file in logs.iterdir()}
            self.assertEqual(hosts, {"chief-0": MACHINES[0], "worker-0": MACHINES[1], "worker-1": MACHINES[2],
                                     "ps-0": MACHINES[0], "evaluator-0": MACHINES[0]})
        self.expect_nothing_left()

    def test_a_killed_task_is_started_again(self):
        launch = self.start(["--ps", "1", "--workers", "1", "--restart-secs", "0.01"], self.script("""
            if [ $role = worker ] && [ $(grep -c . started-worker) = 1 ]; then kill -9 $$; fi
            if [ $role = worker ]; then touch over; fi
            wait_for over"""))
        self.assertEqual(launch.wait(SECONDS_MAX), 0)
        self.assertRegex(launch.text(), r"worker 0 was ended by signal 9 \(Killed\).*\(restart 1 of 5\)")
        self.assertIn("worker 0 was started again 1 time", launch.text())
        self.assertEqual(len(self.started("worker")), 2)
        self.expect_nothing_left()

    def test_chaos_reaches_the_hosts(self):
        with Job() as job:
            chaos = ["--chaos", str(3 * SCALE), "--chaos-seed", "3"]  # A task is up again after 1.5 s, where ssh is slow.
            ended = self.run_to_end(["--ps", "2", "--workers", "1", *chaos],
                                    self.trainee(job, "--steps", "400", "--step-ms", "10", "--strategy", "sync",
                                                 "--save-checkpoints-secs", "0.5", "--heartbeat-secs", "0.5"))
            self.assertEqual(ended.returncode, 0, ended.stderr)
            self.assertEqual(job.newest_step(), 400)
            self.assertGreaterEqual(ended.stderr.count("] chaos: "), 1, ended.stderr)
            self.assertRegex(ended.stderr, r"was started again \d+ times? \(\d+ of them after chaos\); it was back after \d")
        self.expect_nothing_left()

    def test_a_status_arrives_as_it_is(self):
        ended = self.run_to_end(["--ps", "1"], self.script("if [ $role = chief ]; then exit 3; fi; exec sleep 1000"))
        self.assertEqual(ended.returncode, 3, ended.stderr)
        self.assertIn("chief 0 ended with status 3 (the loss was not a number), which a restart cannot repair", ended.stderr)
        self.expect_nothing_left()

    def test_what_a_program_gets_is_what_was_said(self):
        hostile = ["two words", "it's", '"', "$HOME `id` $(id)", "a\nb", "\\", "", "-n", "*", "; exit 1 #", "!x", "\u00e4\t"]
        check = "import json, os, sys; print(json.dumps([sys.argv[1:], os.environ['SHOAL_PROFILE'], os.getcwd()]))"
        ended = self.run_to_end(["--json"], ["python3", "-c", check + "; json.dump({'global_step': 1, 'x': 2.5}, open(os.environ["
                                             "'SHOAL_REPORT_FILE'], 'w'), indent=1)", *hostile],
                                variables={"SHOAL_PROFILE": "'\n$x"})
        self.assertEqual(ended.returncode, 0, ended.stderr)
        told = re.search(r"^\[chief 0\] (\[.*)$", ended.stderr, re.MULTILINE)[1]
        self.assertEqual(json.loads(told), [hostile, "'\n$x", str(self.folder)])
        self.assertEqual(json.loads(ended.stdout), {"x": 2.5, "global_step": 1})

    # Ends.

    def test_an_interrupt_saves_and_ends_with_zero(self):
        with Job() as job:
            launch = self.start(["--ps", "1", "--workers", "1"], self.trainee(job, "--steps", str(FOREVER), "--step-ms", "5",
                                                                            "--save-checkpoints-steps", str(FOREVER)))
            launch.wait_for(STEP)
            for task in ("ps 0", "worker 0"):
                launch.wait_for(rf"\[{task}\] ")
            launch.signal(signal.SIGINT)
            self.assertEqual(launch.wait(SECONDS_MAX), 0, launch.text())
            self.assertEqual(job.finished()["reason"], "interrupted")
            self.assertEqual(job.newest_step(), job.finished()["global_step"])
        self.expect_nothing_left()

    def test_a_signal_while_machines_are_prepared_ends_with_zero(self):
        with socket.create_server(("127.0.0.4", 0)) as silent:  # This server never sends anything.
            silent.settimeout(SECONDS_MAX)
            hosts = f"127.0.0.1:{self.sshd.port}\n127.0.0.4:{silent.getsockname()[1]}\n"
            launch = self.start(["--ps", "1"], self.script(""), hosts=hosts)
            with silent.accept()[0]:
                launch.signal(signal.SIGTERM)
                self.assertEqual(launch.wait(), 0, launch.text())
        self.assertIn("a signal: no task was started", launch.text())
        self.assertFalse(self.started("chief"))
        self.expect_nothing_left()

    def test_signals_while_machines_are_cleaned_leave_nothing_there(self):
        with Job() as job:
            launch = self.start(["--ps", "1", "--workers", "1", "--copy"],
                                self.trainee(job, "--steps", str(FOREVER), "--step-ms", "5", "--save-checkpoints-steps", str(FOREVER)))
            launch.wait_for(STEP)
            self.assertTrue(list(self.tmp.glob("shoal-launch-*/trainee")))

            def ends_under_signals():
                launch.signal(signal.SIGTERM)
                return not launch.runs()

            self.wait_until(ends_under_signals, "the launcher did not end")
            self.assertNotIn("may be left there", launch.text())
        self.expect_nothing_left()

    def test_nothing_outlives_a_killed_launcher(self):
        with Job() as job:
            launch = self.start(["--ps", "1", "--workers", "1"], self.trainee(job, "--steps", str(FOREVER), "--step-ms", "5",
                                                                            "--save-checkpoints-steps", str(FOREVER)))
            launch.wait_for(STEP)
            self.assertGreaterEqual(len(self.sshd.processes()), 6)
            launch.kill()
            self.expect_nothing_left()
            self.assertEqual(job.finished()["reason"], "interrupted")
            self.assertGreater(job.newest_step(), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
