#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`shoal launch` on a terminal: the table of its tasks, the lines above it, and that neither goes into a file or a pipe."""
import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
import unittest

from job import SECONDS_MAX, Job, JobTest, program

TAKES_BACK = re.compile(r"\x1b\[(\d+)A\r\x1b\[J")
HEAD = r"^task +state +step +steps/s +examples/s +restarts"


class Screen:
    """The contents of a terminal after each piece of text that redraws its last lines."""

    def __init__(self):
        self.frames = []  # The lines after each redrawing.

    def feed(self, text):
        lines = []
        begin = 0
        for match in [*TAKES_BACK.finditer(text), None]:
            end = match.start() if match else len(text)
            lines += text[begin:end].split("\r\n")[:-1] if text[begin:end] else []
            self.frames.append(list(lines))
            if match:
                lines = lines[:len(lines) - int(match[1])]
                begin = match.end()

    def ever_had(self, pattern):
        return any(re.search(pattern, line) for frame in self.frames for line in frame)


def on_a_terminal(command, environment, columns=150, rows=40, stdout=None):
    """The program's status, and all that it wrote to a terminal; standard output may go elsewhere."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    process = subprocess.Popen(command, env=environment | {"TERM": "xterm"}, stdin=subprocess.DEVNULL,
                               stdout=stdout or theirs, stderr=theirs)
    os.close(theirs)
    text = b""
    deadline = time.monotonic() + SECONDS_MAX
    try:
        while time.monotonic() < deadline:
            if not select.select([ours], [], [], 1)[0]:
                continue
            try:
                piece = os.read(ours, 65536)
            except OSError:  # The other end is closed.
                break
            if not piece:
                break
            text += piece
        return process.wait(timeout=SECONDS_MAX), text.decode()
    finally:
        process.kill()
        process.wait()
        os.close(ours)


class LaunchTable(JobTest):
    def command(self, job, options, *flags):
        trainee = [*program("trainee"), "--model-dir", str(job.model_dir), *job.flags, *flags]
        return program("shoal") + ["launch", *options, "--", *trainee]

    def environment(self, job):
        kept = {name: value for name, value in os.environ.items() if not name.startswith("SHOAL_") or "TEST" in name}
        return kept | {"TMPDIR": str(job.folder)}

    def test_each_task_has_a_row(self):
        with Job() as job:
            logs = job.folder / "logs"
            options = ["--ps", "1", "--workers", "1", "--evaluator", "--log-dir", str(logs)]
            command = self.command(job, options, "--steps", "400", "--strategy", "sync")
            status, text = on_a_terminal(command, self.environment(job))
            self.assertEqual(status, 0, text)
            screen = Screen()
            screen.feed(text)
            last = screen.frames[-1]
            head = max(i for i, line in enumerate(last) if re.match(HEAD, line))
            rows = last[head + 1:head + 5]
            for name, row in zip(("chief 0", "ps 0", "worker 0", "evaluator 0"), rows):
                self.assertRegex(row, f"^{name} +done", text)
            self.assertRegex(rows[0], r"^chief 0 +done +400")
            self.assertIn("[launch] the job has ended with status 0", last[head + 5:])
            self.assertRegex(last[-1], r"^Evaluated at global step 400: accuracy 0\.\d+")
            self.assertIn("SHOAL_PROGRESS_SECS=1", self.dry_run(job, options))
            # In between the tasks were at work; lines that nobody has to read are in the logs alone.
            self.assertTrue(screen.ever_had(r"^ps 0 +(running|serving)"), text)
            self.assertTrue(screen.ever_had(" MiB"), text)
            self.assertFalse([line for line in last if re.match(r"\[\S+ \d+\] [\d:.]+ I ", line)])
            self.assertIn(" I chief 0: ", (logs / "chief-0.log").read_text())
            for frame in screen.frames:
                self.assertLessEqual(max(len(line) for line in frame[-5:]) if frame else 0, 149)

    def dry_run(self, job, options):
        return on_a_terminal(self.command(job, ["--dry-run", *options]), self.environment(job))[1]

    def test_workers_tell_their_rates_and_json_stands_alone(self):
        with Job() as job:
            options = ["--ps", "1", "--workers", "1", "--no-logs", "--json"]
            results = job.folder / "results"
            with open(results, "wb") as file:
                command = self.command(job, options, "--steps", "1500", "--step-ms", "5")
                status, text = on_a_terminal(command, self.environment(job), stdout=file)
            self.assertEqual(status, 0, text)
            screen = Screen()
            screen.feed(text)
            self.assertTrue(screen.ever_had(r"^worker 0 +training +\d+ +[\d.]+ +[\d.,]+"), text)
            self.assertEqual(json.loads(results.read_text())["global_step"], job.finished()["global_step"])

    def test_an_error_leaves_no_table(self):
        with Job() as job:
            command = program("shoal") + ["launch", "--ps", "1", "--log-dir", "/proc/none", "--", "/bin/true"]
            status, text = on_a_terminal(command, self.environment(job))
            self.assertNotEqual(status, 0)
            self.assertIn("/proc/none", text)
            self.assertNotRegex(text, "(?m)" + HEAD)

    def test_one_object_is_indented_on_a_terminal(self):
        with Job() as job:
            job.model_dir.mkdir()
            command = program("shoal") + ["checkpoint", "list", str(job.model_dir)]
            status, text = on_a_terminal(command, self.environment(job))
            self.assertEqual(status, 0, text)
            self.assertGreater(len(text.splitlines()), 3)
            self.assertIsNone(json.loads(text)["newest"])

    def test_what_a_task_says_itself_and_what_warns_stands_above(self):
        with Job() as job:
            script = job.folder / "task"
            script.write_text("#!/bin/sh\n"
                              "case $TF_CONFIG in *'\"type\":\"chief\"'*) ;; *) exec sleep 60;; esac\n"
                              "echo 'my own words'\n"
                              "echo '01:02:03.456 I chief 0: loss = 1, step = 5' >&2\n"
                              "echo '01:02:03.456 W chief 0: look here' >&2\n"
                              "echo 'step 1,234/2,000  loss 0.1  85.1 steps/s  900 examples/s' >&2\n"
                              "sleep 1.5\n")
            script.chmod(0o755)
            command = program("shoal") + ["launch", "--ps", "1", "--stop-secs", "1", "--log-dir", str(job.folder / "logs"),
                                          "--", str(script)]
            status, text = on_a_terminal(command, self.environment(job))
            screen = Screen()
            screen.feed(text)
            last = screen.frames[-1]
            self.assertIn("[chief 0] my own words", last)
            self.assertIn("[chief 0] 01:02:03.456 W chief 0: look here", last)
            self.assertNotIn("loss = 1", "\n".join(last))
            self.assertEqual(status, 0, text)
            self.assertTrue(screen.ever_had(r"^chief 0 +training +1234 +85.1 +900"), text)

    def test_no_table_where_none_is_wanted_or_can_be(self):
        with Job() as job:
            options = ["--ps", "1", "--no-logs"]
            status, text = on_a_terminal(self.command(job, [*options, "--no-table"], "--steps", "5"), self.environment(job))
            self.assertEqual(status, 0, text)
            self.assertNotIn("\x1b", text)
            self.assertRegex(text, r"\[chief 0\] [\d:.]+ I chief 0: ")
        with Job() as job:  # Standard output may be the same terminal.
            status, text = on_a_terminal(self.command(job, options, "--steps", "5"), self.environment(job),
                                         stdout=subprocess.DEVNULL)
            self.assertEqual(status, 0, text)
            self.assertNotIn("\x1b", text)
        with Job() as job:
            ended = subprocess.run(self.command(job, options, "--steps", "5"), env=self.environment(job), text=True,
                                   stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS_MAX)
            self.assertEqual(ended.returncode, 0, ended.stderr)
            self.assertNotIn("\x1b", ended.stdout + ended.stderr)
            self.assertNotRegex(ended.stderr, "(?m)" + HEAD)


if __name__ == "__main__":
    unittest.main()
