# SPDX-License-Identifier: Apache-2.0
"""The base of tests of `shoal launch --hosts`: launches on the three machines of sshd.py."""
import contextlib
import os
import pathlib
import subprocess
import tempfile
import time
import unittest

from job import POLL_SECONDS, SCALE, SECONDS_MAX, Process, program
from sshd import MACHINES, Sshd, find_sshd

GONE_SECONDS = 25 * SCALE

# The begin of each task's script.
PREAMBLE = """
case "$TF_CONFIG" in
  *'"type":"chief"'*) role=chief ;;
  *'"type":"ps"'*) role=ps ;;
  *'"index":0,"type":"worker"'*) role=worker ;;
  *) role=other ;;
esac
echo $$ >> started-$role
wait_for() { until [ -e "$1" ]; do sleep 0.02; done; }
"""


@unittest.skipUnless(find_sshd(), "there is no sshd here (openssh-server)")
class HostsTest(unittest.TestCase):
    """Launches on three machines, which write to one folder."""

    @classmethod
    def setUpClass(cls):
        with contextlib.ExitStack() as stack:
            cls.of_class = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="shoal-hosts-test-")))
            cls.sshd = stack.enter_context(Sshd(cls.of_class / "sshd"))
            cls.addClassCleanup(stack.pop_all().close)

    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="shoal-hosts-test-")
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.tmp = self.folder / "tmp"
        self.tmp.mkdir()
        self.launches = []
        self.addCleanup(self.end_all)

    def end_all(self):
        for launch in self.launches:
            launch.kill()

    def options(self, hosts=None, ssh=None):
        file = self.folder / "hosts"
        file.write_text(hosts or "".join(f"{machine}:{self.sshd.port}  # a machine\n" for machine in MACHINES))
        return ["launch", "--hosts", str(file), "--ssh", ssh or self.sshd.ssh()]

    def command(self, options, task, **where):
        for name, usual in (("--log-dir", ["--no-logs"]), ("--remote-tmp", ["--remote-tmp", str(self.tmp)]),
                            ("--remote-dir", ["--remote-dir", str(self.folder)])):
            options = options if name in options else [*options, *usual]
        return program("shoal") + [*self.options(**where), *options, "--", *task]

    def script(self, text):
        return ["sh", "-c", PREAMBLE + text]

    def environment(self, **variables):
        kept = {name: value for name, value in os.environ.items() if not name.startswith("SHOAL_")}
        return kept | {"TMPDIR": str(self.folder)} | variables

    def start(self, options, task, *, hosts=None, **variables):
        launch = Process("launch", self.command(options, task, hosts=hosts), self.environment(**variables), self.folder / "output")
        self.launches.append(launch)
        return launch

    def run_to_end(self, options, task, *, variables={}, **where):
        return subprocess.run(self.command(options, task, **where), env=self.environment(**variables), text=True,
                              timeout=SECONDS_MAX, stdin=subprocess.DEVNULL, capture_output=True)

    def trainee(self, job, *flags):
        return [*program("trainee"), "--model-dir", str(job.model_dir), *job.flags, *flags]

    def wait_until(self, condition, what, seconds=SECONDS_MAX):
        deadline = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), deadline, what)
            time.sleep(POLL_SECONDS)

    def started(self, role):
        file = self.folder / f"started-{role}"
        return [int(line) for line in file.read_text().split()] if file.exists() else []

    def expect_nothing_left(self, seconds=GONE_SECONDS):
        self.wait_until(lambda: not self.sshd.processes(), f"processes are left: {self.sshd.processes()}", seconds)
        self.wait_until(lambda: not list(self.tmp.iterdir()), f"left: {list(self.tmp.iterdir())}", seconds)
