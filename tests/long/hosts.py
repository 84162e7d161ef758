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
        self._relays = []
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

    def slow_down(self, number, name, mbit):
        """So many megabits a second to the host, and as many from it."""
        shape = ["root", "tbf", "rate", f"{mbit}mbit", "burst", "32kbit", "latency", "400ms"]
        _run("tc", "qdisc", "add", "dev", f"to-{number}", *shape)
        _run(*self.on(name), "tc", "qdisc", "add", "dev", "eth0", *shape)

    def delay(self, number, name, milliseconds):
        """Puts a relay between the host and the switch, which lets each frame wait, in both directions. It is one of this script's
        processes."""
        near, far = f"to-{number}", f"relay-{number}"
        _run("ip", "link", "set", near, "nomaster")
        _run("ip", "link", "add", far, "type", "veth", "peer", "name", f"port-{number}")
        _run("ip", "link", "set", f"port-{number}", "master", "switch", "up")
        _run("ip", "link", "set", far, "up")
        # A frame as the kernel takes it from a program is larger than the line, and has no checksum yet.
        plain = ["tx", "off", "tso", "off", "gso", "off", "gro", "off"]
        _run(*self.on(name), "ethtool", "-K", "eth0", *plain)
        for link in (near, far, f"port-{number}"):
            _run("ethtool", "-K", link, *plain)
        _run("ethtool", "-K", "switch", *plain)
        relay = pathlib.Path(__file__).resolve().parent / "boards" / "relay.py"
        self._relays.append(subprocess.Popen([sys.executable, "-B", str(relay), near, far, str(milliseconds)], stdin=subprocess.DEVNULL))
