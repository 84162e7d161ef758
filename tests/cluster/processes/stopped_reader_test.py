#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs whose output nobody reads, though nobody has closed it: a pager, a terminal after Ctrl-S, a collector of logs that
hangs. They go on, and signals end them (CONTRACT FA-12)."""
import os
import pathlib
import pty
import re
import signal
import subprocess
import tempfile
import time
import unittest

from job import FOREVER, POLL_SECONDS, SCALE, SECONDS_MAX, program

# Fills any pipe or terminal, and goes on in spite of that if its own output is read.
WRITES = "yes 'a line that is written again and again'"


def is_alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")")[1].split()[0] != "Z"
    except OSError:
        return False


class StuckOutput:
    """A pipe or a terminal that is not read until read() is called."""

    def __init__(self, terminal=False):
        self._reader, self.writer = pty.openpty() if terminal else os.pipe()
        os.set_blocking(self._reader, False)

    def read(self):
        text = b""
        while True:
            try:
                more = os.read(self._reader, 65536)
            except OSError:
                more = b""
            if not more:
                return text.decode(errors="replace").replace("\r\n", "\n")
            text += more

    def close(self):
        os.close(self._reader)
        os.close(self.writer)


class StoppedReader(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="shoal-stopped-reader-")
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def start(self, command, output, stdout=None, **variables):
        kept = {name: value for name, value in os.environ.items() if not name.startswith("SHOAL_") or "TEST" in name}
        process = subprocess.Popen(command, env=kept | {"TMPDIR": str(self.folder), "TERM": "xterm"} | variables,
                                   stdin=subprocess.DEVNULL, stdout=stdout or output.writer, stderr=output.writer,
                                   start_new_session=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(output.close)
        return process

    def wait_until(self, condition, what, seconds=SECONDS_MAX):
        deadline = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), deadline, what)
            time.sleep(POLL_SECONDS)

    def is_full(self, output, more=b"x"):
        """Whether the output takes no more. Asked by a description of its own, since O_NONBLOCK belongs to a description."""
        descriptor = os.open(f"/proc/self/fd/{output.writer}", os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)
        try:
            os.write(descriptor, more)
            return False
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)

    def fill(self, output):
        for more in (b"x" * 4096, b"x"):
            while not self.is_full(output, more):
                pass

    def wait_until_full(self, output):
        self.wait_until(lambda: self.is_full(output), "the output is never full")

    def expect_end(self, process, status, seconds):
        begun = time.monotonic()
        try:
            ended = process.wait(seconds * SCALE + 20 * SCALE)
        except subprocess.TimeoutExpired:
            self.fail("does not end")
        self.assertEqual(ended, status)
        self.assertLess(time.monotonic() - begun, seconds * SCALE)

    def train(self, output, model_dir, *flags):
        """A program whose log goes to `output`. Its results do not: a program waits for their reader."""
        command = program("trainee") + ["--model-dir", str(model_dir), "--threads", "1", *flags]
        return self.start(command, output, stdout=subprocess.DEVNULL, SHOAL_PROGRESS_SECS="0.01")

    def newest_step(self, model_dir):
        names = [path.name for path in model_dir.glob("model.ckpt-*.index")] if model_dir.exists() else []
        return max((int(re.search(r"ckpt-(\d+)", name).group(1)) for name in names), default=0)

    # Programs.

    def test_a_program_trains_on_and_heeds_the_first_signal(self):
        for terminal in (False, True):
            with self.subTest(terminal=terminal):
                output = StuckOutput(terminal)
                self.fill(output)
                model_dir = self.folder / f"m{terminal}"
                process = self.train(output, model_dir, "--steps", str(FOREVER), "--save-checkpoints-steps", "10", "--step-ms", "5")
                self.wait_until(lambda: self.newest_step(model_dir) > 20, "it does not train")
                self.wait_until_full(output)
                process.send_signal(signal.SIGTERM)
                self.expect_end(process, 0, 10)
                self.assertTrue((model_dir / "training_finished").exists())

    def test_a_second_signal_ends_a_program_at_once(self):
        for terminal in (False, True):
            with self.subTest(terminal=terminal):
                output = StuckOutput(terminal)
                self.fill(output)
                model_dir = self.folder / f"m{terminal}"
                step_ms = str(100 * 1000 * SCALE)  # The step in hand outlasts the test.
                process = self.train(output, model_dir, "--steps", "10", "--step-ms", step_ms)
                self.wait_until(lambda: (model_dir / "run.json").exists(), "it does not begin")
                time.sleep(6)  # Longer than the log waits for its reader; then the first step is under way.
                process.send_signal(signal.SIGTERM)
                time.sleep(0.6)  # Within half a second they would count as one.
                process.send_signal(signal.SIGINT)
                self.expect_end(process, 128 + signal.SIGINT, 5)

    # The launcher.

    def launch(self, output, options, script):
        """Every task notes its process in `started`."""
        started = self.folder / "started"
        started.write_text("")
        command = program("shoal") + ["launch", "--no-logs", *options, "--", "sh", "-c", f"echo $$ >> '{started}'; {script}"]
        process = self.start(command, output)
        return process, lambda: [int(line) for line in started.read_text().split()]

    def expect_nothing_left(self, started):
        self.wait_until(lambda: not any(is_alive(pid) for pid in started()), "a task lives on", 10 * SCALE)
        self.wait_until(lambda: not list(self.folder.glob("shoal-launch-*")), "its folder is left", 10 * SCALE)

    def test_a_launched_job_heeds_a_signal(self):
        for terminal, options in ((False, []), (True, []), (True, ["--no-table"])):
            with self.subTest(terminal=terminal, options=options):
                output = StuckOutput(terminal)
                process, started = self.launch(output, ["--ps", "1", *options], f"exec {WRITES}")
                self.wait_until(lambda: len(started()) == 2, "the tasks do not start")
                self.wait_until_full(output)
                process.send_signal(signal.SIGTERM)
                self.expect_end(process, 0, 10)
                self.expect_nothing_left(started)

    def test_the_launcher_keeps_its_limit_for_tasks_that_heed_no_signal(self):
        output = StuckOutput()
        process, started = self.launch(output, ["--ps", "1", "--stop-secs", "1"], f"trap '' TERM; {WRITES}")
        self.wait_until(lambda: len(started()) == 2, "the tasks do not start")
        self.wait_until_full(output)
        process.send_signal(signal.SIGTERM)
        self.expect_end(process, 1, 10)
        self.expect_nothing_left(started)

    def test_a_second_signal_ends_a_launched_job_at_once(self):
        output = StuckOutput()
        process, started = self.launch(output, ["--ps", "1"], f"trap '' INT TERM; {WRITES}")
        self.wait_until(lambda: len(started()) == 2, "the tasks do not start")
        self.wait_until_full(output)
        process.send_signal(signal.SIGTERM)
        time.sleep(0.6)  # Within half a second they would count as one.
        process.send_signal(signal.SIGINT)
        self.expect_end(process, 128 + signal.SIGINT, 5)
        self.expect_nothing_left(started)

    def test_tasks_go_on_and_are_started_again(self):
        output = StuckOutput()
        self.fill(output)
        over = self.folder / "over"
        # More than any pipe holds, and than the launcher keeps. The third process of the chief has got through it.
        script = f"""i=0; while [ $i -lt 3000 ]; do echo '{'x' * 4000}'; i=$((i + 1)); done
            [ $(grep -c . '{self.folder}/started') = 3 ] || exit 1; touch '{over}'; echo the end"""
        process, started = self.launch(output, ["--restart-secs", "0.01"], script)
        self.wait_until(over.exists, "the tasks do not go on")
        self.assertEqual(len(started()), 3)
        self.assertIsNone(process.poll())  # The job has ended, and its last lines wait for their reader.
        text = ""

        def has_ended():
            nonlocal text
            text += output.read()
            return process.poll() is not None

        self.wait_until(has_ended, "it does not end")
        text += output.read()
        self.assertEqual(process.returncode, 0)
        self.assertTrue(re.search(r"\n\[launch\] \d+ lines are missing here: nobody read this stream", text), text[-1000:])
        self.assertIn("[launch] the job has ended with status 0\n", text[-1000:])

    def test_a_signal_ends_a_launcher_that_waits_for_its_reader(self):
        output = StuckOutput()
        self.fill(output)
        process, started = self.launch(output, [], "true")
        self.wait_until(lambda: started() and not is_alive(started()[0]), "the task does not end")
        process.send_signal(signal.SIGTERM)
        self.expect_end(process, 0, 5)
        self.expect_nothing_left(started)


if __name__ == "__main__":
    unittest.main(verbosity=2)
