#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Synchronous updates with R = N: the bits of one process that computes for as many trainers, at every step, for any number
of trainers and servers, over every transport, whoever is killed meanwhile (CONTRACT SY-4, SY-9).

What can be combined are too many jobs, so each pair of settings comes together in one at least (all-pairs testing: Cohen,
Dalal, Fredman, Patton, "The AETG system", IEEE Transactions on Software Engineering 23(7), 1997). `-v` prints them.
"""
import functools
import itertools
import os
import re
import sys
import unittest

from job import SCALE, Job, make_token, program

SEED = 7
STEPS = 12
BATCH = 8
KILL_AT = 4  # the step after which a task is killed
STEP_MS = 40 * SCALE  # where a task is killed, so that the job does not end before
BITS = re.compile(r"bits of step (\d+): ([0-9a-f]{16} of \d+ variables)")

TRANSPORTS = ["inproc", "tcp"]
if os.environ.get("SHOAL_TEST_SHM") != "0":
    TRANSPORTS += ["shm", "auto"]
if os.environ.get("SHOAL_TEST_TLS") != "0":
    TRANSPORTS += ["tcp with a token"]

SETTINGS = {
    "trainers": (1, 2, 3, 4),
    "servers": (1, 2, 3),
    "transport": TRANSPORTS,
    "network": ("dense", "batch_norm", "dropout", "table"),
    "optimizer": ("momentum", "adam", "lamb"),
    "killed": ("nobody", "worker", "chief", "ps"),
}


def possible(job):
    if job["killed"] == "worker" and job["trainers"] == 1:
        return False
    return job["killed"] == "nobody" or job["transport"] != "inproc"  # threads of one process


def pairs_of(job):
    return set(itertools.combinations(sorted(job.items()), 2))


def jobs_of_all_pairs():
    """A few jobs in which all possible pairs of settings come together; always the same ones."""
    every = [dict(zip(SETTINGS, values)) for values in itertools.product(*SETTINGS.values())]
    every = [(job, pairs_of(job)) for job in every if possible(job)]
    missing = set().union(*(pairs for _, pairs in every))
    chosen = []
    while missing:
        job, pairs = max(every, key=lambda each: len(each[1] & missing))
        chosen.append(job)
        missing -= pairs
    return chosen


def bits_of(*processes):
    """The bits by step that these processes have printed; a step that was made twice must have the same bits twice."""
    bits = {}
    for step, said in itertools.chain(*(BITS.findall(process.text()) for process in processes)):
        if bits.setdefault(int(step), said) != said:
            raise AssertionError(f"step {step} had {bits[int(step)]}, and then {said}")
    return bits


def flags_of(network, optimizer, seed=SEED):
    return ["--seed", str(seed), "--steps", str(STEPS), "--batch", str(BATCH), "--network", network, "--optimizer", optimizer]


@functools.lru_cache(maxsize=None)
def bits_of_replicas(trainers, network, optimizer, seed=SEED):
    with Job(flags=flags_of(network, optimizer, seed) + ["--replicas", str(trainers)]) as job:
        process = job.start(command=program("bits"))
        job.expect_all_end({"local": process})
        return bits_of(process)


class SameBits(unittest.TestCase):
    def run_threads(self, job, trainers, servers):
        process = job.start("local", "--cluster", f"ps:{servers},worker:{trainers - 1}", "--transport", "inproc",
                            command=program("bits"))
        job.expect_all_end({"local": process})
        return bits_of(process)

    def run_processes(self, job, tasks, killed):
        processes = {task: job.start(task, command=program("bits")) for task in tasks}
        chiefs = [processes["chief 0"]]
        if killed != "nobody":
            chiefs[0].wait_for(f"bits of step {KILL_AT}:")
            task = job.numbers.choice([task for task in tasks if task.startswith(killed)])
            self.assertTrue(processes[task].runs(), "the job was too fast for its test")
            processes[task].kill()
            processes[task] = job.start(task, command=program("bits"))
            if killed == "chief":
                chiefs.append(processes[task])
        job.expect_all_end(processes)
        return bits_of(*chiefs)

    def run_job(self, trainers, servers, transport, network, optimizer, killed):
        flags = flags_of(network, optimizer) + ["--strategy", "sync"]
        if killed != "nobody":
            flags += ["--step-ms", str(STEP_MS)]
        if transport == "inproc":
            with Job(flags=flags) as job:
                return self.run_threads(job, trainers, servers)
        tasks = [f"ps {i}" for i in range(servers)] + ["chief 0"] + [f"worker {i}" for i in range(trainers - 1)]
        flags += ["--transport", transport.split()[0]]
        with Job(tasks, flags, token=make_token() if "token" in transport else None) as job:
            return self.run_processes(job, tasks, killed)

    def test_of_replicas(self):
        for settings in jobs_of_all_pairs():
            with self.subTest(**settings):
                expected = bits_of_replicas(settings["trainers"], settings["network"], settings["optimizer"])
                self.assertEqual(set(expected), set(range(STEPS + 1)))
                bits = self.run_job(**settings)
                if "-v" in sys.argv:
                    same = sum(bits[step] == expected[step] for step in bits)
                    print(*settings.values(), f"{same} of {len(bits)} steps have the same bits", sep="\t", flush=True)
                self.assertEqual(bits, {step: expected[step] for step in bits})
                # A chief may have made one more between its last save and its death.
                self.assertGreaterEqual(len(bits), len(expected) - (settings["killed"] == "chief"))
                self.assertIn(STEPS, bits)

    def test_other_seeds_and_numbers_of_trainers_give_others(self):
        kinds = [bits_of_replicas(trainers, "dense", "adam", seed)[STEPS] for trainers in (1, 2) for seed in (SEED, SEED + 1)]
        self.assertEqual(len(set(kinds)), len(kinds))


if __name__ == "__main__":
    unittest.main(verbosity=2)
