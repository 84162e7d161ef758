#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`shoal launch --hosts`: connections that are lost or silent, and a launcher that cannot say farewell."""
import os
import pathlib
import signal
import unittest

from hosts import GONE_SECONDS, HostsTest
from job import SECONDS_MAX
from sshd import is_alive, state_of


class HostsConnections(HostsTest):
    def server_of(self, role):
        """The process of the ssh server that serves the newest process of that role."""
        pid = self.started(role)[-1]
        while not state_of(pid)[0].startswith("sshd"):
            pid = state_of(pid)[2]
        return pid

    def test_a_lost_connection_is_a_failure_of_its_task(self):
        launch = self.start(["--ps", "1", "--workers", "1", "--restart-secs", "0.01"], self.script("""
            if [ $role = worker ] && [ $(grep -c . started-worker) = 2 ]; then touch over; fi
            wait_for over"""))
        self.wait_until(lambda: self.started("worker"), "worker does not start")
        os.kill(self.server_of("worker"), signal.SIGKILL)
        self.assertEqual(launch.wait(SECONDS_MAX), 0)
        self.assertIn("worker 0 is lost, since the connection to its host has ended; it is started again", launch.text())
        first, _ = self.started("worker")
        self.wait_until(lambda: not is_alive(first), "the first worker lives on")
        self.expect_nothing_left()

    def test_a_connection_that_is_silent_is_replaced_and_its_task_with_it(self):
        launch = self.start(["--ps", "1", "--workers", "1", "--restart-secs", "0.01"], self.script("""
            if [ $role = worker ] && [ $(grep -c . started-worker) = 2 ]; then
              grep -q '^State:.[RSD]' /proc/$(head -1 started-worker)/status && touch both-run
              touch over
            fi
            wait_for over"""))
        self.wait_until(lambda: self.started("worker"), "worker does not start")
        server = self.server_of("worker")
        os.kill(server, signal.SIGSTOP)
        try:
            self.assertEqual(launch.wait(SECONDS_MAX), 0)
            self.assertIn("worker 0 is lost, since the connection to its host has ended", launch.text())
            self.assertFalse((self.folder / "both-run").exists())
        finally:
            os.kill(server, signal.SIGKILL)
        self.expect_nothing_left()

    def test_nothing_outlives_a_launcher_that_is_killed_with_its_guard(self):
        launch = self.start(["--ps", "1", "--workers", "1"], self.script("trap '' TERM; while true; do sleep 0.05; done"))
        self.wait_until(lambda: self.started("chief") and self.started("ps") and self.started("worker"), "not started")
        children = pathlib.Path(f"/proc/{launch.pid}/task/{launch.pid}/children").read_text().split()
        guard = [int(child) for child in children if (state_of(child) or [""])[0] == "shoal-guard"]
        self.assertEqual(len(guard), 1)
        os.kill(launch.pid, signal.SIGSTOP)
        for pid in [*guard, launch.pid]:
            os.kill(pid, signal.SIGKILL)
        self.wait_until(lambda: not self.sshd.processes(), "processes are left", GONE_SECONDS)


if __name__ == "__main__":
    unittest.main(verbosity=2)
