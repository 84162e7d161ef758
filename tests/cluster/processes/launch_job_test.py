#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whole jobs by `shoal launch`: their training, evaluation and output; kills and signals do not harm them."""
import json
import os
import pathlib
import re
import signal
import subprocess
import time
import unittest

from job import FOREVER, SCALE, SECONDS_MAX, Job, JobTest, Process, program

STEP = r"\[chief 0\] .*at step (\d+)"


class LaunchJob(JobTest):
    def command(self, job, options, *flags):
        trainee = [*program("trainee"), "--model-dir", str(job.model_dir), *job.flags, *flags]
        return program("shoal") + ["launch", "--no-logs", *options, "--", *trainee]

    def environment(self, job):
        kept = {name: value for name, value in os.environ.items() if not name.startswith("SHOAL_") or "TEST" in name}
        return kept | {"TMPDIR": str(job.folder)}

    def run_to_end(self, job, options, *flags):
        return subprocess.run(self.command(job, options, *flags), env=self.environment(job), text=True, timeout=SECONDS_MAX,
                              stdin=subprocess.DEVNULL, capture_output=True)

    def start(self, job, options, *flags):
        launch = Process("launch", self.command(job, options, *flags), self.environment(job), job.folder / "output")
        job.started.append(launch)
        return launch

    def test_a_cluster_in_one_line(self):
        with Job() as job:
            ended = self.run_to_end(job, ["--ps", "1", "--workers", "2", "--evaluator"], "--steps", "300", "--strategy", "sync",
                                    "--throttle-secs", "0", "--save-checkpoints-steps", "100")
            self.assertEqual(ended.returncode, 0, ended.stderr)
            self.assertEqual(job.newest_step(), 300)
            self.assertEqual(job.finished()["reason"], "max_steps")
            self.assertRegex(job.finished()["shoal_run"], "^launch-")
            self.assertRegex(ended.stdout.splitlines()[-1], r"^Evaluated at global step 300: accuracy 0\.\d+")
            for task in ("chief 0", "ps 0", "worker 0", "worker 1", "evaluator 0"):
                self.assertIn(f"[{task}] ", ended.stderr)
            self.assertEqual(list(job.folder.glob("shoal-launch-*")), [])

    def test_a_program_is_its_own_launcher(self):
        """mnist links shoal::tools. The wrapper records the command that it was given, and runs it."""
        with Job() as job:
            script, given = job.folder / "wrapper", job.folder / "given"
            script.write_text(f'#!/bin/sh\necho "$@" >> {given}\nexec "$@"\n')
            script.chmod(0o755)
            command = [*program("mnist"), "launch", "--no-logs", "--ps", "1", "--workers", "1", "--wrapper", str(script), "--",
                       "--model-dir", str(job.model_dir), "--steps", "20", "--strategy", "sync", "--model", "mlp"]
            ended = subprocess.run(command, env=self.environment(job), text=True, timeout=SECONDS_MAX, stdin=subprocess.DEVNULL,
                                   capture_output=True)
            self.assertEqual(ended.returncode, 0, ended.stderr)
            own = " ".join([*program("mnist"), *command[command.index("--") + 1:]])
            self.assertEqual(given.read_text().splitlines(), [own] * 3)
            listed = subprocess.run([*program("mnist"), "checkpoint", "list", str(job.model_dir)], text=True, capture_output=True)
            self.assertEqual(json.loads(listed.stdout)["newest"], "model.ckpt-20", listed.stderr)

    def test_a_task_makes_no_cluster_of_its_own(self):
        """A script between the launcher and the program adds flags that the launcher does not see (CONTRACT LA-3)."""
        for flags, sentence in (("--cluster ps:1", "--cluster ps:1 would make a cluster of threads in each task"),
                                ("--source local", "--source local says another place"), ("--rank 1", "--rank 1 says another place"),
                                ("--transport inproc", "inproc, which connects threads of one process")):
            with Job() as job:
                script = job.folder / "script"
                script.write_text(f'#!/bin/sh\nexec "$@" {flags}\n')
                script.chmod(0o755)
                command = self.command(job, ["--ps", "1", "--workers", "1"])
                at = command.index("--") + 1
                ended = subprocess.run([*command[:at], str(script), *command[at:]], env=self.environment(job), text=True,
                                       timeout=SECONDS_MAX, stdin=subprocess.DEVNULL, capture_output=True)
                self.assertEqual(ended.returncode, 2, ended.stderr)
                self.assertIn(sentence, ended.stderr)
                self.assertFalse(job.model_dir.exists())

    def test_nothing_is_saved_once_a_task_has_failed_for_good(self):
        """CONTRACT CK-17: the launcher stops the other tasks with a signal, after which nothing is saved."""
        # Asynchronous workers make steps before the chief's first save, which may be of weights that such a rate has made.
        for strategy, workers in (("sync", "1"), ("async", "0"), ("sync", "1")):
            options = ["--ps", "2", "--workers", workers]
            with Job(flags=["--strategy", strategy]) as job:
                ended = self.run_to_end(job, options, "--steps", str(FOREVER), "--learning-rate", "1e30")
                self.assertEqual(ended.returncode, 3, ended.stderr)
                failed = re.search(r"error: .*(?:NaN|infinite).* at global step (\d+)", ended.stderr)
                self.assertIsNotNone(failed, ended.stderr)
                self.assertLess(job.newest_step(), int(failed[1]), ended.stderr)
                self.assertIsNone(job.finished())
                ended = self.run_to_end(job, options, "--steps", "60")
                self.assertEqual(ended.returncode, 0, ended.stderr)
                self.assertGreaterEqual(job.newest_step(), 60)

    def test_results_as_json(self):
        with Job() as job:
            ended = self.run_to_end(job, ["--json", "--master", "--ps", "1"], "--steps", "20")
            self.assertEqual(ended.returncode, 0, ended.stderr)
            results = json.loads(ended.stdout)
            self.assertEqual(results["global_step"], 20)
            self.assertGreater(results["accuracy"], 0)
            self.assertGreater(results["examples_per_second"], 0)

    def test_results_of_a_complete_run_have_the_flags_of_the_start_that_trained(self):
        with Job() as job:
            options = ["--json", "--ps", "1", "--workers", "1", "--evaluator"]
            flags = ["--strategy", "sync", "--learning-rate"]
            first = self.run_to_end(job, options, *flags, "0.1", "--steps", "40")
            again = self.run_to_end(job, options, *flags, "0.5", "--steps", "20")
            self.assertEqual(again.returncode, 0, again.stderr)
            self.assertRegex(again.stderr, "so these flags had no effect: .*learning-rate, steps")
            first, again = json.loads(first.stdout), json.loads(again.stdout)
            self.assertEqual(again["flags"], first["flags"])
            self.assertEqual(again["accuracy"], first["accuracy"])

    def test_a_worker_and_an_evaluator_that_leave_alone_do_not_interrupt_the_job(self):
        with Job() as job:
            launch = self.start(job, ["--ps", "1", "--workers", "1", "--evaluator"], "--steps", "300", "--step-ms", "20",
                                "--save-checkpoints-steps", str(FOREVER), "--throttle-secs", "0", "--strategy", "async")
            launch.wait_for(r"\[worker 0\] .*at step (\d+)")
            evaluated = launch.wait_for(r"\[evaluator 0\] .*evaluation: .*global_step = (\d+)")[1]
            for role in ("worker", "evaluator"):
                os.kill(self.task_of(job, role), signal.SIGTERM)
            self.assertEqual(launch.wait(SECONDS_MAX), 0)
            self.assertEqual(job.finished()["reason"], "max_steps")
            text = launch.text()
            self.assertRegex(text, rf"\[launch\] global step \d+, where training ended, was not evaluated; "
                                   rf"evaluator 0 ended after it had evaluated global step {evaluated}\n")
            self.assertRegex(text, rf"\nEvaluated at global step {evaluated}: accuracy .*\n$")

    def test_a_wrong_flag_is_told_once_and_not_retried(self):
        with Job() as job:
            ended = self.run_to_end(job, ["--ps", "1"], "--no-such-flag")
            self.assertEqual(ended.returncode, 2)
            self.assertIn("--no-such-flag", ended.stderr)
            self.assertNotIn("(restart", ended.stderr)

    def test_chaos_costs_no_step(self):
        with Job() as job:
            chaos = ["--chaos", str(1.2 * SCALE), "--chaos-seed", "3"]
            launch = self.start(job, ["--ps", "2", "--workers", "1", "--evaluator", *chaos], "--steps", "500",
                                "--step-ms", "10", "--save-checkpoints-steps", "20", "--throttle-secs", "0", "--strategy", "sync", "--heartbeat-secs", "0.5")
            self.assertEqual(launch.wait(SECONDS_MAX), 0)
            text = launch.text()
            self.assertEqual(job.newest_step(), 500)
            self.assertGreaterEqual(text.count("] chaos: "), 2, text)
            self.assertRegex(text, r"was started again \d+ times? \(\d+ of them after chaos\); it was back after \d")
            self.assertRegex(text, r"\nEvaluated at global step 500: accuracy ")

    def test_what_a_lost_server_cost_is_told(self):
        with Job() as job:
            launch = self.start(job, ["--ps", "1", "--workers", "1", "--restart-secs", "0.1"], "--steps", "60", "--step-ms", "50",
                                "--strategy", "sync", "--save-checkpoints-steps", "1000")
            launch.wait_for(STEP)
            launch.wait_for(r"\[chief 0\] .*at step (\d\d)")
            os.kill(self.task_of(job, "ps"), signal.SIGKILL)
            self.assertEqual(launch.wait(SECONDS_MAX), 0)
            text = launch.text()
            fell = re.search(r"\[chief 0\] .*global step goes back from (\d+) to (\d+)", text)
            steps = int(fell[1]) - int(fell[2])
            self.assertIn(f"servers lost what they held 1 time, and the job went on from a checkpoint: {steps} step", text)
            self.assertEqual(job.newest_step(), 60)

    def test_an_interrupt_saves_and_ends_with_zero(self):
        with Job() as job:
            launch = self.start(job, ["--ps", "1", "--workers", "1", "--evaluator"], "--steps", str(FOREVER),
                                "--step-ms", "5", "--save-checkpoints-steps", str(FOREVER))
            launch.wait_for(STEP)
            launch.wait_for("evaluation: ")
            launch.signal(signal.SIGINT)
            self.assertEqual(launch.wait(SECONDS_MAX), 0)
            self.assertEqual(job.finished()["reason"], "interrupted")
            self.assertEqual(job.newest_step(), job.finished()["global_step"])

    def test_a_killed_launcher_loses_nothing(self):
        with Job() as job:
            launch = self.start(job, ["--ps", "1", "--workers", "1"], "--steps", str(FOREVER), "--step-ms", "5",
                                "--save-checkpoints-steps", str(FOREVER))
            launch.wait_for(STEP)
            tasks = self.tasks_of(job)
            self.assertEqual(len(tasks), 3)
            launch.kill()
            deadline = time.monotonic() + 25 * SCALE
            while self.tasks_of(job):
                self.assertLess(time.monotonic(), deadline, "tasks outlive their launcher")
                time.sleep(0.05)
            self.assertEqual(job.finished()["reason"], "interrupted")
            self.assertGreater(job.newest_step(), 0)

    def task_of(self, job, role):
        """The one process of that role."""
        mark = f'"type":"{role}"'.encode()
        found = [int(pid) for pid in self.tasks_of(job) if mark in pathlib.Path(f"/proc/{pid}/environ").read_bytes()]
        self.assertEqual(len(found), 1)
        return found[0]

    def tasks_of(self, job):
        """Processes that train in the job's folder."""
        found = []
        for line in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = line.read_bytes().split(b"\0")
            except OSError:
                continue
            if os.fsencode(job.model_dir) in words and b"launch" not in words:
                found.append(line.parent.name)
        return found


if __name__ == "__main__":
    unittest.main(verbosity=2)
