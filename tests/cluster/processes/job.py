# SPDX-License-Identifier: Apache-2.0
"""Real processes of one job, which a test starts, kills and starts again.

What is started is ended and waited for, however the test ends; a failure shows the last lines of everything that ran. The
programs come in the environment (see CMakeLists.txt): SHOAL_TEST_TRAINEE, SHOAL_TEST_BITS, SHOAL_TEST_SHOAL, SHOAL_TEST_MNIST,
SHOAL_TEST_FRAME_HEAD.
"""
import ctypes
import json
import os
import pathlib
import random
import re
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

SCALE = int(os.environ.get("SHOAL_TEST_TIMEOUT_SCALE", "1"))
SECONDS_MAX = 60 * SCALE  # for one wait of a test
POLL_SECONDS = 0.005
TAIL_LINES = 25
FOREVER = 10**9  # steps

# A job that has every role. `start()` takes such names.
FIVE = ("ps 0", "chief 0", "worker 0", "worker 1", "evaluator 0")

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)
_ports_held = []


def _before_the_program():
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # the program dies with the test
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a limit on file sizes is an error, like a full disk


def program(name):
    return shlex.split(os.environ["SHOAL_TEST_" + name.upper()])


def free_port():
    """A port that is ours until this process ends: a socket's name says so to the tests beside this one. It lies below those
    that the system gives to outgoing connections, so that none of these takes it while its server is dead."""
    first_outgoing = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    while True:
        port = random.SystemRandom().randrange(max(1024, first_outgoing - 16000), first_outgoing)
        claim = socket.socket(socket.AF_UNIX)
        try:
            claim.bind(f"\0shoal-test-port-{port}")
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            claim.close()
            continue
        _ports_held.append(claim)
        return port


def make_token():
    """A fresh token, as `shoal keys token` prints it."""
    return subprocess.run(program("shoal") + ["keys", "token"], text=True, timeout=SECONDS_MAX, check=True,
                          stdout=subprocess.PIPE).stdout.strip()


class Authority:
    """A CA in a folder, and folders with its certificates for --tls-dir."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir()
        self._keys("ca", "--out", str(self.folder / "ca"))

    def _keys(self, *arguments):
        subprocess.run(program("shoal") + ["keys", *arguments], timeout=SECONDS_MAX, check=True, stdout=subprocess.DEVNULL)

    def tls_dir(self, task):
        """The folder for a task such as "worker 0"; made when first asked for."""
        role, index = task.split()
        folder = self.folder / f"{role}-{index}"
        if not folder.exists():
            self._keys("task", "--ca", str(self.folder / "ca"), "--role", role, "--index", index, "--out", str(folder))
        return str(folder)

    def expired_tls_dir(self, task):
        """As tls_dir(), but the certificate expired yesterday. Made by the openssl program."""
        folder = pathlib.Path(self.tls_dir(task) + "-expired")
        folder.mkdir()
        good = pathlib.Path(self.tls_dir(task))
        for name in ("ca.pem", "task.key"):
            shutil.copy(good / name, folder)
        request = subprocess.run(["openssl", "x509", "-x509toreq", "-in", str(good / "task.pem"), "-signkey", str(good / "task.key"),
                                  "-copy_extensions", "copyall"], timeout=SECONDS_MAX, check=True, stdout=subprocess.PIPE,
                                 stderr=subprocess.DEVNULL).stdout
        options = subprocess.run(["openssl", "x509", "-help"], timeout=SECONDS_MAX, check=True, capture_output=True).stderr
        past = ["-days", "-1"]  # for OpenSSL before 3.4, which refuses it
        if b"-not_after" in options:
            past = ["-not_before", "20200101000000Z", "-not_after", "20200102000000Z"]
        subprocess.run(["openssl", "x509", "-req", "-CA", str(self.folder / "ca" / "ca.pem"), "-CAkey",
                        str(self.folder / "ca" / "ca.key"), "-set_serial", "7", *past, "-copy_extensions", "copyall",
                        "-out", str(folder / "task.pem")], timeout=SECONDS_MAX, check=True, input=request,
                       stderr=subprocess.DEVNULL)
        return str(folder)


class Process:
    """A process, and what it has written to both outputs."""

    def __init__(self, name, command, environment, output, limit=None):
        self.name = name
        self._output = output

        def before():
            _before_the_program()
            if limit:
                limit()

        with open(output, "wb") as file:
            self._process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=file,
                                             stderr=subprocess.STDOUT, preexec_fn=before)
        self.pid = self._process.pid

    def text(self):
        return self._output.read_text(errors="replace")

    def lines(self):
        """The complete lines that the process has written."""
        text = self.text()
        return text[:text.rfind("\n") + 1]

    def tail(self):
        state = "runs" if self._process.poll() is None else f"status {self._process.returncode}"
        lines = self.text().splitlines()
        return "\n".join([f"--- {self.name}, pid {self.pid}, {state}; {len(lines)} lines:"] + lines[-TAIL_LINES:])

    def runs(self):
        return self._process.poll() is None

    def written(self):
        """The number of characters that the process has written, for wait_for()."""
        return len(self.lines())

    def wait_for(self, pattern, after=0, seconds=SECONDS_MAX):
        """The first match of `pattern` in the lines that the process writes, not counting the first `after` characters."""
        deadline = time.monotonic() + seconds
        while True:
            runs = self.runs()
            if found := re.search(pattern, self.lines()[after:]):
                return found
            if not runs:
                raise AssertionError(f"{self.name} ended without writing '{pattern}'")
            if time.monotonic() > deadline:
                raise AssertionError(f"{self.name} did not write '{pattern}' within {seconds} s")
            time.sleep(POLL_SECONDS)

    def signal(self, number):
        self._process.send_signal(number)

    def wait(self, seconds=SECONDS_MAX):
        """The exit status; negative: the signal that killed the process."""
        try:
            return self._process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.name} did not end within {seconds} s") from None

    def kill(self):
        """kill -9."""
        if self.runs():
            self._process.kill()
        self._process.wait()


class Job:
    """A model_dir and the processes that train there; `with Job(...) as job:`.

      tasks    of the cluster, `FIVE` for example; none: a local job, whose only task is called "local"
      flags    that every task gets
      token    that every task gets, in SHOAL_TOKEN
      numbers  random ones for the test; a failure shows their seed, which SHOAL_TEST_SEED sets
    """

    def __init__(self, tasks=(), flags=(), token=None):
        self.flags = ["--threads", "1", *flags]  # one thread each: there are more processes than cores
        self.seed = int(os.environ.get("SHOAL_TEST_SEED", random.SystemRandom().randrange(10**6)))
        self.numbers = random.Random(self.seed)
        self.token = token
        self.started = []  # in the order of their starts
        self._tasks = tasks
        self._cluster = {}
        for task in tasks:
            role = task.split()[0]
            if role != "evaluator":
                self._cluster.setdefault(role, []).append(f"127.0.0.1:{free_port()}")

    def __enter__(self):
        self._temporary = tempfile.TemporaryDirectory(prefix="shoal-job-")
        self.folder = pathlib.Path(self._temporary.name)
        self.model_dir = self.folder / "m"
        return self

    def __exit__(self, kind, error, trace):
        if error:  # before the other processes are killed
            tails = "\n".join(process.tail() for process in self.started[-3 * max(1, len(self._tasks)):])
        for process in self.started:
            process.kill()
        self._temporary.cleanup()
        if error:
            error.add_note(f"SHOAL_TEST_SEED={self.seed}\n{tails}")

    def address(self, task):
        role, index = task.split()
        return self._cluster[role][int(index)]

    def tf_config(self, task):
        role, index = task.split()
        return json.dumps({"cluster": self._cluster, "task": {"type": role, "index": int(index)}})

    def start(self, task="local", *flags, command=None, tf_config=None, limit=None, **variables):
        """Starts that task of the job, by default as the trainee with this job's flags and `flags`. `variables` go into its
        environment; None keeps one out. Its process calls `limit` before it becomes the program."""
        # The environment that started this test says nothing of the job.
        leave_out = re.compile(r"TF_CONFIG|SHOAL_(?!TEST_)\w+|(SLURM|OMPI|PMI|PMIX|PET|JAX|DMLC|TORCHELASTIC)_\w+|RANK|WORLD_SIZE|"
                               r"MASTER_(ADDR|PORT)|LOCAL_(RANK|WORLD_SIZE)|JOB_COMPLETION_INDEX")
        environment = {name: value for name, value in os.environ.items() if not leave_out.fullmatch(name)}
        environment |= {name: value for name, value in ({"SHOAL_TOKEN": self.token} | variables).items() if value is not None}
        if tf_config or task != "local":
            environment["TF_CONFIG"] = tf_config or self.tf_config(task)
        command = (command or program("trainee")) + ["--model-dir", str(self.model_dir), *self.flags, *flags]
        process = Process(task, command, environment, self.folder / f"output-{len(self.started)}", limit)
        self.started.append(process)
        return process

    def start_all(self, *flags, order=None):
        """Starts all tasks, in `order`; returns them by name."""
        return {task: self.start(task, *flags) for task in order or self._tasks or ["local"]}

    def wait_until_it_listens(self, process, seconds=SECONDS_MAX):
        """Waits until every task has opened its port, which it does before it waits for others."""
        host, port = self.address(process.name).split(":")
        deadline = time.monotonic() + seconds
        while process.runs() and time.monotonic() < deadline:
            try:
                return socket.create_connection((host, int(port)), timeout=1).close()
            except ConnectionRefusedError:
                time.sleep(POLL_SECONDS)
        raise AssertionError(f"{process.name} did not listen at port {port} within {seconds} s")

    def shoal(self, *arguments):
        """The JSON that `shoal ARGUMENTS` prints; the command has to end with status 0."""
        return json.loads(self._output_of_shoal(*arguments))

    def shoal_lines(self, *arguments):
        """The JSON values of a command that prints one in each line."""
        return [json.loads(line) for line in self._output_of_shoal(*arguments).splitlines()]

    def _output_of_shoal(self, *arguments):
        ended = subprocess.run(program("shoal") + [str(argument) for argument in arguments], text=True, timeout=SECONDS_MAX,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if ended.returncode != 0:
            raise AssertionError(f"shoal {arguments}: status {ended.returncode}: {ended.stderr}")
        return ended.stdout

    def newest_step(self):
        """The step of the newest checkpoint. Checks that all listed ones are intact, and that it has an update for each step."""
        listed = self.shoal("checkpoint", "list", self.model_dir)
        if not listed["newest"]:
            raise AssertionError(f"there is no newest checkpoint: {listed}")
        prefix = self.model_dir / listed["newest"]
        step = self.shoal("checkpoint", "verify", prefix)["global_step"]
        updates = self.shoal("checkpoint", "show", prefix, "--values", "updates")["values"]["updates"]
        if updates != [step]:
            raise AssertionError(f"{prefix} has {updates} updates at step {step}")
        return step

    def finished(self):
        """The content of the end mark; None if there is none."""
        return self.shoal("checkpoint", "list", self.model_dir)["finished"]

    def traces_of_saves(self):
        """Files that belong to no listed checkpoint: left by a save during which its process was killed."""
        pointer = self.model_dir / "checkpoint"
        listed = re.findall(r'all_model_checkpoint_paths: "(.*)"', pointer.read_text())
        names = {path.name for path in self.model_dir.iterdir() if path.is_file()}
        of_checkpoints = {name: match.group() for name in names if (match := re.match(r"model\.ckpt-\d+", name))}
        return {name for name in names if ".tmp" in name or of_checkpoints.get(name, listed[-1]) not in listed}

    def expect_all_end(self, processes, status=0, seconds=SECONDS_MAX):
        """Checks that each of `processes` (by name) ends by itself, with that status."""
        statuses = {name: process.wait(seconds) for name, process in processes.items()}
        if set(statuses.values()) != {status}:
            raise AssertionError(f"statuses {statuses}, expected {status} of all")


class JobTest(unittest.TestCase):
    """The checks of tests of failing processes."""

    INVALID = 2  # exit status of bad input and refusals

    def expect_error(self, process, status, *sentence, seconds=30 * SCALE):
        """Checks that the process ends with `status`, and that its only error line matches all patterns of `sentence`."""
        ended = process.wait(seconds)
        errors = re.findall(r"^error: .*$", process.text(), re.MULTILINE)
        self.assertEqual((ended, len(errors)), (status, 1), errors)
        for part in sentence:
            self.assertRegex(errors[0], part)

    def expect_refusal(self, process, *sentence):
        self.expect_error(process, self.INVALID, *sentence)
