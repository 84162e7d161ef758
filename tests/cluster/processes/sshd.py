# SPDX-License-Identifier: Apache-2.0
"""An ssh server for tests: three addresses of the loopback stand for three machines, which share everything."""
import os
import pathlib
import pwd
import shlex
import shutil
import signal
import socket
import subprocess
import time

from job import POLL_SECONDS, SECONDS_MAX, free_port

MACHINES = ("127.0.0.1", "127.0.0.2", "127.0.0.3")


def find_sshd():
    """The path of the program; None if there is none."""
    return shutil.which("sshd", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")


def state_of(pid):
    """The name of a process, its state and its parent, as /proc has them; None if it is gone."""
    try:
        head, _, tail = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")
        return (head.partition("(")[2], tail.split()[0], int(tail.split()[1])) if tail else None
    except OSError:
        return None


def is_alive(pid):
    state = state_of(pid)
    return state is not None and state[1] != "Z"


def _make_key(path):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True, timeout=SECONDS_MAX)


class Sshd:
    """Runs while it is entered, with keys of its own. `machines`: the addresses at which it listens; `before`: words before its command, by
    which it runs elsewhere (in a namespace, say)."""

    def __init__(self, folder, machines=MACHINES, before=()):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir()
        self.machines = machines
        self.before = list(before)
        self.port = free_port()
        self.client_config = self.folder / "client_config"
        self.known_hosts = self.folder / "known_hosts"

    def __enter__(self):
        _make_key(self.folder / "host_key")
        _make_key(self.folder / "user_key")
        shutil.copy(self.folder / "user_key.pub", self.folder / "authorized_keys")
        listens = [f"ListenAddress {machine}" for machine in self.machines]
        lines = [f"Port {self.port}", *listens, f"HostKey {self.folder}/host_key", f"AuthorizedKeysFile {self.folder}/authorized_keys",
                 "PidFile none", "UsePAM no", "StrictModes no", "PasswordAuthentication no", "KbdInteractiveAuthentication no",
                 "PermitRootLogin prohibit-password", "MaxStartups 100"]
        (self.folder / "server_config").write_text("\n".join(lines) + "\n")
        public = (self.folder / "host_key.pub").read_text().split()
        self.known_hosts.write_text("".join(f"[{machine}]:{self.port} {public[0]} {public[1]}\n" for machine in self.machines))
        self.write_client_config(self.client_config, self.known_hosts)
        if os.geteuid() == 0:
            pathlib.Path("/run/sshd").mkdir(exist_ok=True)  # where sshd separates privileges
        with open(self.folder / "log", "wb") as log:
            self._process = subprocess.Popen([*self.before, find_sshd(), "-D", "-e", "-f", str(self.folder / "server_config")],
                                             stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        deadline = time.monotonic() + SECONDS_MAX
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError("sshd does not start: " + (self.folder / "log").read_text())
            time.sleep(POLL_SECONDS)
        return self

    def __exit__(self, *_):
        for pid in self.processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        self._process.kill()
        self._process.wait()

    def _answers(self):
        try:
            socket.create_connection((self.machines[-1], self.port), timeout=1).close()
            return True
        except OSError:
            return False

    def write_client_config(self, path, known_hosts):
        user = pwd.getpwuid(os.geteuid()).pw_name
        lines = [f"User {user}", f"IdentityFile {self.folder}/user_key", "IdentitiesOnly yes", f"UserKnownHostsFile {known_hosts}",
                 "GlobalKnownHostsFile /dev/null"]
        path.write_text("\n".join(lines) + "\n")

    def ssh(self, config=None):
        """The command for --ssh."""
        return "ssh -F " + shlex.quote(str(config or self.client_config))

    def processes(self):
        """The processes at the far ends of its connections: they have a variable that says so."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                variables = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            except OSError:
                continue  # the process has ended, or is another user's
            if is_alive(pid) and any(v.startswith(b"SSH_CONNECTION=") and v.endswith(b" %d" % self.port) for v in variables):
                found.append(int(pid))
        return found
