#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Signals and their meanings (CONTRACT FA-12): SIGTERM with on_sigterm `leave`, SIGHUP, and the signals of failing writes."""
import os
import pathlib
import re
import resource
import signal
import subprocess
import time
import unittest

from job import FIVE, FOREVER, SCALE, Job, JobTest, free_port, program

GAVE_WAY = 143
SECONDS_MAX = 30 * SCALE  # a server that gives way takes 20 s at most
STEP = r"at step (\d+)"
LEAVE = {"SHOAL_ON_SIGTERM": "leave"}


def as_a_shell_has_it():
    """The signals; job.py ignores one of them for its processes."""
    for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


class GiveWay(JobTest):
    def job(self, tasks=()):
        return Job(tasks, ["--steps", str(FOREVER), "--save-checkpoints-steps", str(FOREVER), "--step-ms", "5",
                           "--throttle-secs", "0"])

    def trains(self, job):
        running = {task: job.start(task, **LEAVE) for task in FIVE}
        for task in ("chief 0", "worker 0", "worker 1"):
            running[task].wait_for(STEP)
        running["evaluator 0"].wait_for("evaluation: ")
        return running

    def test_a_local_job_saves_and_has_not_ended(self):
        with self.job() as job:
            process = job.start("local", "--on-sigterm", "leave")
            process.wait_for(STEP)
            process.signal(signal.SIGTERM)
            self.assertEqual(process.wait(SECONDS_MAX), GAVE_WAY)
            step = job.newest_step()
            self.assertGreater(step, 0)
            self.assertIsNone(job.finished())
            self.assertNotIn("error", process.text())
            again = job.start("local", **LEAVE)
            again.wait_for(rf"restored from checkpoint \S+ at global step {step}\n")
            again.wait_for(STEP)
            again.signal(signal.SIGINT)  # as a person sends it
            self.assertEqual(again.wait(SECONDS_MAX), 0)
            self.assertEqual(job.finished()["reason"], "interrupted")

    def test_all_of_five_processes_and_the_same_start_goes_on(self):
        with self.job(FIVE) as job:
            running = self.trains(job)
            for process in running.values():
                process.signal(signal.SIGTERM)
            job.expect_all_end(running, status=GAVE_WAY, seconds=SECONDS_MAX)
            self.assertIsNone(job.finished())
            step = job.newest_step()
            for task in ("ps 0", "worker 0", "worker 1"):
                self.assertNotIn("without a checkpoint", running[task].text())
            again = self.trains(job)
            again["chief 0"].wait_for(rf"restored from checkpoint \S+ at global step {step}\n")

    def test_a_server_alone_is_saved_first(self):
        with self.job(FIVE) as job:
            running = self.trains(job)
            running["ps 0"].signal(signal.SIGTERM)
            self.assertEqual(running["ps 0"].wait(SECONDS_MAX), GAVE_WAY)
            self.assertGreater(job.newest_step(), 0)
            for task in ("chief 0", "worker 0", "worker 1"):
                self.assertTrue(running[task].runs())
            mark = running["chief 0"].written()
            job.start("ps 0", **LEAVE)
            running["chief 0"].wait_for(STEP, after=mark)

    def test_who_waits_for_others_goes_at_once(self):
        for task in ("chief 0", "worker 0", "ps 0"):
            with self.subTest(task), self.job(FIVE) as job:
                process = job.start(task, **LEAVE)
                job.wait_until_it_listens(process)
                begun = time.monotonic()
                process.signal(signal.SIGTERM)
                self.assertEqual(process.wait(SECONDS_MAX), GAVE_WAY)
                self.assertLess(time.monotonic() - begun, 5 * SCALE)

    def test_ranks_that_still_look_for_each_other_go_at_once(self):
        port = free_port()
        with self.job() as job:
            ranks = [job.start("local", "--ps", "2", SHOAL_RANK=str(rank), SHOAL_WORLD_SIZE="4",
                               SHOAL_RENDEZVOUS=f"127.0.0.1:{port}", **LEAVE) for rank in (0, 1)]
            ranks[0].wait_for("rendezvous at")
            ranks[1].wait_for("rank 1 of 4|rendezvous")
            for process in ranks:
                process.signal(signal.SIGTERM)
            self.assertEqual([process.wait(SECONDS_MAX) for process in ranks], [GAVE_WAY, GAVE_WAY])
            self.assertFalse(job.model_dir.exists())

    def test_a_wrong_value_names_itself(self):
        with self.job() as job:
            self.expect_refusal(job.start("local", SHOAL_ON_SIGTERM="go"), 'SHOAL_ON_SIGTERM: "go" is neither end nor leave')

    def test_shoal_launch_passes_it_on_and_ends_with_143(self):
        with self.job() as job:
            logs = job.folder / "logs"
            launch = lambda *flags: job.start("local", *flags, command=program("shoal") + [
                "launch", "--ps", "1", "--workers", "1", "--evaluator", "--log-dir", str(logs), "--", *program("trainee")], **LEAVE)
            launcher = launch()
            launcher.wait_for(r"\[worker 0\].*" + STEP)
            # Somebody moves one of the job's tasks: no failure, and no end of the job.
            [server] = children_named(launcher.pid, "ps")
            os.kill(server, signal.SIGTERM)
            launcher.wait_for(r"ps 0 gave way to a signal \(status 143\); it is started again")
            mark = launcher.written()
            launcher.wait_for(r"\[chief 0\].*" + STEP, after=mark)
            launcher.signal(signal.SIGTERM)
            self.assertEqual(launcher.wait(SECONDS_MAX), GAVE_WAY)
            self.assertIsNone(job.finished())
            step = job.newest_step()
            again = launch()
            again.wait_for(rf"restored from checkpoint \S+ at global step {step}\n")
            again.wait_for(r"\[worker 0\].*" + STEP)
            again.signal(signal.SIGINT)
            self.assertEqual(again.wait(SECONDS_MAX), 0)
            self.assertEqual(job.finished()["reason"], "interrupted")


def children_named(launcher, role):
    """The launcher's processes whose task has that role."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            parent = int(re.search(r"^PPid:\s+(\d+)$", (folder / "status").read_text(), re.MULTILINE)[1])
            variables = (folder / "environ").read_bytes()
        except (OSError, TypeError):
            continue
        if parent == launcher and f'"type":"{role}"'.encode() in variables.replace(b" ", b""):
            found.append(int(folder.name))
    return found


class Hangups(JobTest):
    """SIGHUP is a terminate signal, unless it was ignored when the program began."""

    def started(self, job, before):
        command = program("trainee") + ["--model-dir", str(job.model_dir), *job.flags]
        return subprocess.Popen(command, preexec_fn=before, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, text=True)

    def wait_for_step(self, process):
        for line in process.stderr:
            if re.search(STEP, line):
                return
        self.fail("it ended before its first step")

    def test_a_terminal_that_closes_saves_and_ends(self):
        with Job(flags=["--steps", str(FOREVER), "--step-ms", "5"]) as job, self.started(job, as_a_shell_has_it) as process:
            self.wait_for_step(process)
            process.send_signal(signal.SIGHUP)
            process.communicate(timeout=SECONDS_MAX)
            self.assertEqual(process.returncode, 0)
            self.assertEqual(job.finished()["reason"], "interrupted")

    def test_nohup_goes_on(self):
        def nohup():
            as_a_shell_has_it()
            signal.signal(signal.SIGHUP, signal.SIG_IGN)

        with Job(flags=["--steps", "60", "--step-ms", "5"]) as job, self.started(job, nohup) as process:
            self.wait_for_step(process)
            process.send_signal(signal.SIGHUP)
            process.communicate(timeout=SECONDS_MAX)
            self.assertEqual(process.returncode, 0)
            self.assertEqual((job.finished()["reason"], job.newest_step()), ("max_steps", 60))


class FailingWrites(JobTest):
    def run_to_its_end(self, job, stdout, stderr, *flags, before=as_a_shell_has_it, command=None):
        whole = (command or program("trainee")) + ["--model-dir", str(job.model_dir), *job.flags, *flags]
        return subprocess.run(whole, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, preexec_fn=before,
                              timeout=2 * SECONDS_MAX, text=True)

    def closed_pipe(self):
        """The writing end of a pipe whose reader is gone, as that of `| head -n 3`."""
        reader, writer = os.pipe()
        os.close(reader)
        self.addCleanup(os.close, writer)
        return writer

    def test_a_log_whose_reader_has_gone_ends_no_training(self):
        with Job(flags=["--steps", "40", "--step-ms", "1"]) as job:
            pipe = self.closed_pipe()
            self.assertEqual(self.run_to_its_end(job, pipe, pipe, "--json").returncode, 0)
            self.assertEqual((job.finished()["reason"], job.newest_step()), ("max_steps", 40))

    def test_results_whose_reader_has_gone_are_told_of(self):
        with Job(flags=["--steps", "20"]) as job:
            ended = self.run_to_its_end(job, self.closed_pipe(), subprocess.PIPE, "--json")
            self.assertEqual(ended.returncode, 0)
            self.assertEqual(ended.stderr.count("warning: the results could not be written to standard output"), 1)

    def test_a_launcher_whose_reader_has_gone_goes_on(self):
        with Job(flags=["--steps", "60", "--step-ms", "1"]) as job:
            pipe = self.closed_pipe()
            launch = program("shoal") + ["launch", "--ps", "1", "--workers", "1", "--no-logs", "--", *program("trainee")]
            self.assertEqual(self.run_to_its_end(job, pipe, pipe, command=launch).returncode, 0)
            self.assertEqual(job.finished()["reason"], "max_steps")

    def test_a_filter_whose_reader_has_gone_ends_as_filters_do(self):
        with Job(flags=["--steps", "200"]) as job:
            self.assertEqual(job.start("local").wait(), 0)
            events = program("shoal") + ["events", str(job.model_dir)]
            shown = subprocess.Popen(events, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=as_a_shell_has_it)
            shown.stdout.readline()
            shown.stdout.close()
            with shown.stderr as errors:
                complaints = errors.read().decode()
            self.assertIn((shown.wait(SECONDS_MAX), complaints), [(0, ""), (-signal.SIGPIPE, "")])
            with open("/dev/full", "w") as disk:
                full = subprocess.run(events, stdout=disk, stderr=subprocess.PIPE, text=True, timeout=SECONDS_MAX)
            self.assertEqual(full.returncode, 1)
            self.assertEqual(len(full.stderr.splitlines()), 1, full.stderr)

    def test_a_checkpoint_beyond_the_limit_of_file_sizes_is_an_error_and_the_one_before_stays(self):
        with Job() as job:
            self.assertEqual(job.start("local", "--steps", "20").wait(), 0)

            def limited():
                as_a_shell_has_it()
                resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))

            ended = self.run_to_its_end(job, subprocess.DEVNULL, subprocess.PIPE, "--steps", "40", before=limited)
            self.assertEqual(ended.returncode, 1, ended.stderr)
            self.assertRegex(ended.stderr, rf"error: .*{re.escape(str(job.model_dir))}\S+: File too large; raise the limit")
            self.assertEqual(job.newest_step(), 20)


if __name__ == "__main__":
    unittest.main(verbosity=2)
