# SPDX-License-Identifier: Apache-2.0
"""300 steps of four models by the backend `portable` have the hashes that were recorded (arithmetic/recorded.txt): with AVX2 and
without (other processors are emulated), on 1, 2, 3 and 7 threads, cut in two and gone on, compiled by clang, for 64-bit and 32-bit
ARM and for RISC-V; and synchronous jobs of three trainers, of which one is a program for the first of those targets, have that of
one process with --replicas 3. SHOAL_TEST_TARGETS names other targets, with blanks between them."""
import os
import pathlib
import re
import sys
import tempfile
import time

import commands
import outcome
from job import Job, make_token

sys.path.append(str(pathlib.Path(__file__).resolve().parent / "arithmetic"))
import hashes  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TARGETS = os.environ.get("SHOAL_TEST_TARGETS", "arm64 armhf riscv64").split()
STEPS = 300
SECONDS_OF_A_JOB = 1800  # the emulator
THREADS = ("1", "2", "3", "7")
PROCESSORS = {"SSE2": "Nehalem", "AVX2": "Haswell"}  # as qemu names what has no more


def emulated(build):
    """The words that start the program of that build."""
    cache = (build / "CMakeCache.txt").read_text()
    emulator = re.search(r"^SHOAL_QEMU:FILEPATH=(.+)$", cache, re.MULTILINE).group(1)
    return [emulator, "-L", str(ROOT / "build-sysroot" / build.name.split("-")[1]), str(build / "bin/tests/arithmetic")]


def in_two(program, model):
    with tempfile.TemporaryDirectory() as folder:
        hashes.run(program, model, STEPS // 2, folder=folder)
        return hashes.run(program, model, STEPS, folder=folder)


def ways(program):
    """Names of what is compared, and what gives its hash for a model."""
    for threads in THREADS:
        yield f"{threads} threads", lambda model, threads=threads: hashes.run([program], model, STEPS, "--threads", threads)
    yield "in two", lambda model: in_two([program], model)
    for name, processor in PROCESSORS.items():
        words = ["qemu-x86_64-static", "-cpu", processor, program]
        yield name, lambda model, words=words: hashes.run(words, model, STEPS)
    commands.run("cmake", "--preset", "release", "-B", ROOT / "build-clang", "-DCMAKE_CXX_COMPILER=clang++", cwd=ROOT)
    commands.run("cmake", "--build", ROOT / "build-clang", "--target", "arithmetic", cwd=ROOT)
    yield "clang", lambda model: hashes.run([str(ROOT / "build-clang/bin/tests/arithmetic")], model, STEPS)
    for target in TARGETS:
        commands.run("./dev", "cross", target, "edge", "--show-only", cwd=ROOT)  # builds, and runs no test
        words = emulated(ROOT / f"build-{target}-edge")
        yield target, lambda model, words=words: hashes.run(words, model, STEPS)


def of_a_job(program, other, model):
    """The hash of a job of a chief and two workers, of which the second is started by the words `other`."""
    flags = ["--model", model, "--steps", str(STEPS), "--backend", "portable", "--seed", hashes.SEED, "--batch", hashes.BATCH,
             "--strategy", "sync", "--transport", "tcp", "--heartbeat-secs", "60"]
    tasks = ("ps 0", "ps 1", "chief 0", "worker 0", "worker 1")
    with Job(tasks=tasks, flags=flags, token=make_token()) as job:
        commands_of = {"worker 1": other}
        processes = {task: job.start(task, command=commands_of.get(task, [program])) for task in tasks}
        job.expect_all_end(processes, seconds=SECONDS_OF_A_JOB)
        found = dict(hashes.HASH.findall(processes["chief 0"].text()))
    return found.get(str(STEPS), "no hash")


def body():
    outcome.needs({"dpkg": "dpkg", "apt-get": "apt", "qemu-x86_64-static": "qemu-user-static", "clang++": "clang"})
    begun = time.monotonic()
    expected = {model: value for (model, steps), value in hashes.recorded().items() if steps == STEPS}
    names, different = [], []
    for name, hash_of in ways(os.environ["SHOAL_TEST_ARITHMETIC"]):
        names.append(name)
        for model, value in expected.items():
            found = hash_of(model)
            if found != value:
                different.append(f"{model}, {name}: {found}")
    if TARGETS:
        other = emulated(ROOT / f"build-{TARGETS[0]}-edge")
        program = os.environ["SHOAL_TEST_ARITHMETIC"]
        names.append(f"a job with a worker for {TARGETS[0]}")
        for model in expected:
            alone, together = hashes.run([program], model, STEPS, "--replicas", "3"), of_a_job(program, other, model)
            if alone != together:
                different.append(f"{model}, a job: {together}, and with --replicas 3: {alone}")
    if different:
        raise AssertionError(f"other hashes than recorded: {'; '.join(different)}")
    return {"seconds": time.monotonic() - begun, "how": f"{len(expected)} models, {', '.join(names)}"}


if __name__ == "__main__":
    outcome.end_with(body)
