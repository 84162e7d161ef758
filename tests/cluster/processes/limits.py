# SPDX-License-Identifier: Apache-2.0
"""Tasks of a job under limits of the system: of memory, threads and descriptors (ulimit -v, -u, -n); and calls that fail as on
file systems that lack something."""
import ctypes
import os
import pathlib
import platform
import random
import re
import resource
import subprocess
import time

from job import SCALE, Job, program

ROLES = ("local", "chief", "worker", "ps", "evaluator", "launcher")
DOCUMENTED = (0, 1, 2, 3, 4, 5, 143)  # docs/errors.md
SECONDS_MAX = 60 * SCALE  # for a task that has all that it needs, or too little
READY_SECONDS = 4 * SCALE  # the longest wait of a task for others
MEBIBYTE = 1 << 20
TASKS = ("ps 0", "chief 0", "worker 0", "evaluator 0")
FLAGS = ["--steps", "40", "--save-checkpoints-steps", "20", "--ready-timeout-secs", str(READY_SECONDS)]
SENTENCE = re.compile(r"(?:^|\] )(?:error|shoal): \S.*\s\S|^\[launch\] [\w ]+: \S.*\s\S", re.MULTILINE)


class Undocumented(AssertionError):
    """The end is none of those in docs/errors.md, or says that a job has ended well which has not."""


def memory(mebibytes):
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (mebibytes * MEBIBYTE,) * 2)


def descriptors(count):
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (count, count))


def threads(count):
    """The limit of a user that has no other processes. (Root has no such limit, so only root can try it.)"""
    user = 200_000 + random.SystemRandom().randrange(1_000_000)

    def limit():
        resource.setrlimit(resource.RLIMIT_NPROC, (count, count))
        os.setgid(user)
        os.setuid(user)

    return limit


LIMITS = {"memory": memory, "descriptors": descriptors, "threads": threads}


def _can_load(command, limit):
    """True if the system's loader and the libraries, before the program's first instruction, get along with `limit`."""
    try:
        loaded = subprocess.run(command[:1], env=os.environ | {"LD_TRACE_LOADED_OBJECTS": "1"}, preexec_fn=limit,
                                timeout=SECONDS_MAX, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    except (OSError, subprocess.SubprocessError):
        return False
    if loaded.returncode != 0 or b"not found" in loaded.stdout or b"rror" in loaded.stdout:
        return False
    # OpenMP allocates memory as it is loaded, and ends the process if there is none, even one that does not compute.
    try:
        helped = subprocess.run([*command, "--help"], preexec_fn=limit, timeout=SECONDS_MAX, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, check=False)
    except (OSError, subprocess.SubprocessError):
        return False
    return not helped.stdout.lstrip().startswith(b"libgomp: Out of memory")


def _tasks(role):
    return () if role in ("local", "launcher") else TASKS


def _start(job, role, limit=None):
    """The task of that role under `limit`, and the others without one."""
    job.model_dir.mkdir()
    for folder in (job.folder, job.model_dir):
        folder.chmod(0o777)  # for other users
    if role == "local":
        return job.start("local", limit=limit)
    if role == "launcher":
        launch = program("shoal") + ["launch", "--no-logs", "--max-restarts", "1", "--ps", "1", "--workers", "1", "--evaluator", "--"]
        return job.start("local", command=launch + program("trainee"), limit=limit, TMPDIR=str(job.folder))
    limited = job.start(f"{role} 0", limit=limit)
    for task in TASKS:
        if task != f"{role} 0":
            job.start(task)
    return limited


def _expect_a_mark_if_all_went_well(job, process, limit):
    """Status 0 of the task that leads the job says that all is trained and saved; then the end mark is there. `process` is the
    task under `limit`."""
    leader = next((started for started in job.started if started.name == "chief 0"), process)
    try:
        status = leader.wait(SECONDS_MAX)
    except AssertionError:
        raise Undocumented(f"{leader.name} does not end beside {limit}:\n{leader.tail()}\n{process.tail()}") from None
    if status == 0 and not (job.model_dir / "training_finished").exists():
        raise Undocumented(f"{leader.name} ends well beside {limit}, without an end mark:\n{leader.tail()}\n{process.tail()}")


def end_under(role, kind, amount, flags=()):
    """How the task of that role ends under so much of `kind`: its status, as text, or in words where the system itself did not
    start the program. Raises Undocumented for all other ends, and where the job's chief does not end, or ends well without an
    end mark."""
    limit = LIMITS[kind](amount)
    with Job(_tasks(role), [*FLAGS, *flags]) as job:
        try:
            process = _start(job, role, limit)
        except (OSError, subprocess.SubprocessError):
            return "not started"
        try:
            status = process.wait(SECONDS_MAX)
        except AssertionError:
            raise Undocumented(f"{role} with {amount} of {kind} does not end:\n{process.tail()}") from None
        text = process.text()
        _expect_a_mark_if_all_went_well(job, process, f"{role} with {amount} of {kind}")
    if status == 0 or (status in DOCUMENTED and SENTENCE.search(text)):
        return str(status)
    if "error while loading shared libraries" in text or not _can_load(program("shoal" if role == "launcher" else "trainee"), limit):
        return "not loaded"
    raise Undocumented(f"{role} with {amount} of {kind}: status {status}:\n{text[-3000:]}")


def peak_mebibytes(role, flags=()):
    """The largest address space of a task of that role."""
    with Job(_tasks(role), [*FLAGS, *flags]) as job:
        process = _start(job, role)
        peak = 0
        while process.runs():
            try:
                text = pathlib.Path(f"/proc/{process.pid}/status").read_text()
            except OSError:
                break
            peak = max([peak] + [int(kib) // 1024 for kib in re.findall(r"VmPeak:\s+(\d+) kB", text)])
            time.sleep(0.002)
        if process.wait() != 0:
            raise AssertionError(f"{role} did not end well without a limit:\n{process.text()}")
    return peak + 1


def _least_to_load(name, most):
    too_little = 1
    while most - too_little > 1:
        middle = (too_little + most) // 2
        if _can_load(program(name), memory(middle)):
            most = middle
        else:
            too_little = middle
    return most


def amounts(role, kind, steps, flags=()):
    """Limits from where nothing works to where all does. (A launcher's tasks take more than itself, and share its limit.)"""
    if kind == "memory":
        peak = max(peak_mebibytes(role, flags), peak_mebibytes("chief", flags)) if role == "launcher" else peak_mebibytes(role, flags)
        # The system loads most of it. The limits begin just below that, and are close together where tasks fail.
        least = _least_to_load("shoal" if role == "launcher" else "trainee", peak) * 9 // 10
        return sorted({least + int((peak - least) * (step / max(1, steps - 1)) ** 2) for step in range(steps)})
    most = {"descriptors": 60, "threads": 24}[kind]
    return sorted({most * step // max(1, steps - 1) for step in range(steps)})


class FailingCall:
    """Makes one call of the system fail with a number, in the process that calls this and in all that it becomes: a filter of
    the kernel (seccomp), which asks for no rights."""

    NUMBERS = {"x86_64": {"flock": 73}, "aarch64": {"flock": 32}}

    def __init__(self, call, number):
        self.call = self.NUMBERS[platform.machine()][call]
        self.number = number

    @classmethod
    def works(cls):
        return platform.machine() in cls.NUMBERS

    def __call__(self):
        class Instruction(ctypes.Structure):
            _fields_ = [("code", ctypes.c_uint16), ("jt", ctypes.c_uint8), ("jf", ctypes.c_uint8), ("k", ctypes.c_uint32)]

        class Program(ctypes.Structure):
            _fields_ = [("length", ctypes.c_uint16), ("filter", ctypes.POINTER(Instruction))]

        load, jump_if_equal, give_back = 0x20, 0x15, 0x06
        allow, fail = 0x7FFF0000, 0x00050000
        steps = (Instruction * 4)(Instruction(load, 0, 0, 0), Instruction(jump_if_equal, 0, 1, self.call),
                                  Instruction(give_back, 0, 0, fail | self.number), Instruction(give_back, 0, 0, allow))
        libc = ctypes.CDLL(None, use_errno=True)
        no_new_privileges, set_filter, mode_filter = 38, 22, 2
        if (libc.prctl(no_new_privileges, 1, 0, 0, 0) != 0 or
                libc.prctl(set_filter, mode_filter, ctypes.byref(Program(4, steps)), 0, 0) != 0):
            raise OSError(ctypes.get_errno(), "no filter of calls")
