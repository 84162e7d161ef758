# SPDX-License-Identifier: Apache-2.0
"""The job that every engine runs: a chief, a parameter server and two workers, 50 steps of synchronous training. At every
step its variables have to have the bits that one process computes for as many trainers (CONTRACT SY-4)."""
import re
import time

import outcome  # finds job.py
from job import Job, make_token, program

STEPS = 50
RANKS = 4
TASKS = ("chief 0", "ps 0", "worker 0", "worker 1")  # in the order of ranks
TRAINERS = 3
SECONDS_MAX = 120

# Dropout draws numbers for each trainer, so that one with another's number would show.
FLAGS = ["--seed", "11", "--steps", str(STEPS), "--batch", "8", "--network", "dropout", "--optimizer", "adam"]
BITS = re.compile(r"bits of step (\d+): ([0-9a-f]{16}) of \d+ variables")


def bits_of(processes):
    """By step."""
    bits = {}
    for process in processes:
        for step, said in BITS.findall(process.text()):
            if bits.setdefault(int(step), said) != said:
                raise AssertionError(f"step {step} had {bits[int(step)]}, and then {said}")
    return bits


def bits_of_one_process():
    with Job(flags=[*FLAGS, "--replicas", str(TRAINERS)]) as job:
        process = job.start(command=program("bits"))
        job.expect_all_end({"one process": process}, seconds=SECONDS_MAX)
        return bits_of([process])


def check_roles(processes, source):
    """That every rank has met the others by what its engine said, and has the role that its rank has by the rules."""
    text = "\n".join(process.text() for process in processes)
    for rank, task in enumerate(TASKS):
        if f"{source}: rank {rank} of {RANKS} is {task}" not in text:
            raise AssertionError(f"no task has said that by {source} its rank {rank} is {task}")


def run_once(start, flags=(), source=None, token=False):
    """start(job) starts all tasks and gives their processes; `source`: the name that Shoal has for the engine, where ranks
    meet at rank 0. Gives the bits by step, and the seconds that it took."""
    with Job(flags=[*FLAGS, "--strategy", "sync", *flags], token=make_token() if token else None) as job:
        begun = time.monotonic()
        processes = start(job)
        job.expect_all_end({f"{i} ({process.name})": process for i, process in enumerate(processes)}, seconds=SECONDS_MAX)
        seconds = time.monotonic() - begun
        if source:
            check_roles(processes, source)
        if job.finished()["reason"] != "max_steps":
            raise AssertionError(f"it ended otherwise: {job.finished()}")
        return bits_of(processes), seconds


def compare(start, how, **options):
    """What an engine's script reports, see run_once() and the program `run`. `how`: a few words for people."""
    bits, seconds = run_once(start, **options)
    expected = bits_of_one_process()
    if len(expected) != STEPS + 1:
        raise AssertionError(f"one process has told of {len(expected)} steps")
    others = [step for step in expected if bits.get(step) != expected[step]]
    return {"bits": bits.get(STEPS), "expected": expected[STEPS], "other_steps": others, "seconds": seconds, "how": how}

