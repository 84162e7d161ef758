# SPDX-License-Identifier: Apache-2.0
"""Hosts of a test: each has a network and a name of its own (Linux namespaces), and all are at one switch. Nothing of it can
be seen from outside, and all of it is gone with the script that made it."""
import os
import pathlib
import subprocess
import sys

import outcome

SECONDS_MAX = 20
OUTSIDE = "10.77.0.254"  # the script's own address
_INSIDE = "SHOAL_TEST_IN_NAMESPACES"
# The first process of a namespace of processes takes all others with it, however it ends.
_UNSHARE = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "--mount", "--net", "--uts"]


def _run(*command):
    ended = subprocess.run([str(word) for word in command], timeout=SECONDS_MAX, text=True, stdin=subprocess.DEVNULL,
                           capture_output=True)
    if ended.returncode != 0:
        raise AssertionError(f"{command}: status {ended.returncode}: {ended.stderr}")


def enter():
    """Starts the script again where it can make hosts; returns there only. The first thing that a script does."""
    if os.environ.get(_INSIDE):
        return
    outcome.needs({"ip": "iproute2", "unshare": "util-linux", "nsenter": "util-linux", "hostname": "hostname"})
    if os.geteuid() != 0:
        raise outcome.Skip("only root can make networks of its own")
    os.environ["PATH"] = outcome.PATH
    probe = subprocess.run([*_UNSHARE, "ip", "link", "add", "switch", "type", "bridge"], timeout=SECONDS_MAX, text=True,
                           stdin=subprocess.DEVNULL, capture_output=True)
    if probe.returncode != 0:
        raise outcome.Skip(f"this machine lets nobody make networks: {' '.join(probe.stderr.split())}")
    os.environ[_INSIDE] = "1"
    os.execvp(_UNSHARE[0], [*_UNSHARE, sys.executable, "-B", *sys.argv])


class Hosts:
    """`names`: of each host its name, and others by which it is found: [["n1"], ["train-0", "train-0.train"]]."""

    def __init__(self, folder, names, outside="outside"):
        self._holders = {}
        _run("hostname", outside)
        _run("ip", "link", "set", "lo", "up")
        _run("ip", "link", "add", "switch", "type", "bridge")
        _run("ip", "link", "set", "switch", "up")
        _run("ip", "address", "add", f"{OUTSIDE}/24", "dev", "switch")
        lines = ["127.0.0.1 localhost", f"{OUTSIDE} {outside}"]
        lines += [f"{self.address(i)} {' '.join(of_host)}" for i, of_host in enumerate(names)]
        table = pathlib.Path(folder) / "hosts"
        table.write_text("\n".join(lines) + "\n")
        _run("mount", "--bind", table, "/etc/hosts")  # for this script and what it starts
        for i, of_host in enumerate(names):
            self._add(i, of_host[0])

    @staticmethod
    def address(number):
        return f"10.77.0.{number + 1}"

    def _add(self, number, name):
        hold = f"hostname {name} && ip link set lo up && echo ready && exec sleep infinity"
        holder = subprocess.Popen(["unshare", "--net", "--uts", "--", "sh", "-c", hold], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, text=True)
        if holder.stdout.readline() != "ready\n":
            raise AssertionError(f"no namespaces for {name}")
        self._holders[name] = holder
        _run("ip", "link", "add", f"to-{number}", "type", "veth", "peer", "name", "eth0", "netns", holder.pid)
        _run("ip", "link", "set", f"to-{number}", "master", "switch", "up")
        _run(*self.on(name), "ip", "address", "add", f"{self.address(number)}/24", "dev", "eth0")
        _run(*self.on(name), "ip", "link", "set", "eth0", "up")

    def on(self, name):
        """What stands before a command that is to run there."""
        return ["nsenter", "--target", str(self._holders[name].pid), "--net", "--uts", "--"]
