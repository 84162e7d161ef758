#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a Kubernetes Indexed Job makes of Shoal's tasks, with processes for pods: its controller by its published rules
(kubernetes.io, "Jobs", "Pod failure policy", "Pod termination"), and drains of its pods.

  a pod is deleted         SIGTERM; SIGKILL, if it has not ended when the grace period is over
  a pod ends with 0        it has succeeded: its index is complete, and never started again
  a pod ends otherwise     it has failed: once it is gone, another pod of its index comes in its place. Which rule of the failure
                           policy is the first to fit says whether that counts (backoffLimit), does not, or fails the Job
  all indexes complete     so is the Job
"""
import signal
import subprocess
import time
import unittest

from job import SCALE, Job, free_port, program
from rendezvous_test import BITS

RANKS = 5  # a chief, two servers, two workers
GRACE_SECONDS = 30 * SCALE  # as `shoal launch --emit kubernetes` says at least
BACK_OFF_LIMIT = 3
JOB_SECONDS_MAX = 150 * SCALE
STEPS = 60
FLAGS = ["--seed", "7", "--steps", str(STEPS), "--batch", "8", "--strategy", "sync", "--step-ms", "100",
         "--save-checkpoints-steps", "4"]  # fewer steps than there are drains: most of what is kept is saved on the way out


class IndexedJob:
    """The controller. `on_exit_codes`: rules of the failure policy, in order, as (action, statuses)."""

    def __init__(self, job, on_exit_codes):
        self._job = job
        self._on_exit_codes = on_exit_codes
        self._port = free_port()
        self._deleted = {}  # by index: when a pod that is to go will be killed
        self.pods = {rank: self._new_pod(rank) for rank in range(RANKS)}
        self.complete = set()
        self.statuses = []
        self.failures = 0  # the failures that count

    def _new_pod(self, rank):
        pod = self._job.start("local", "--ps", "2", *FLAGS, command=program("bits"), JOB_COMPLETION_INDEX=str(rank),
                              SHOAL_RANK=str(rank), SHOAL_WORLD_SIZE=str(RANKS), SHOAL_RENDEZVOUS=f"127.0.0.1:{self._port}",
                              SHOAL_RUN="a-controller-uid", SHOAL_ON_SIGTERM="leave")
        pod.name = f"pod {rank}"
        return pod

    def delete(self, *ranks):
        """Deletes a pod, as a drained node or kubectl delete pod does."""
        for rank in ranks:
            if self.pods[rank].runs():
                self.pods[rank].signal(signal.SIGTERM)
                self._deleted[rank] = time.monotonic() + GRACE_SECONDS

    def reconcile(self):
        for rank, deadline in list(self._deleted.items()):
            if time.monotonic() > deadline:
                self.pods[rank].kill()
        for rank, pod in list(self.pods.items()):
            if rank in self.complete or pod.runs():
                continue
            status = pod.wait()
            self._deleted.pop(rank, None)
            self.statuses.append((rank, status))
            if status == 0:
                self.complete.add(rank)
                continue
            action = next((action for action, codes in self._on_exit_codes if status in codes), "Count")
            if action == "FailJob":
                raise AssertionError(f"pod {rank} has failed the Job with status {status}")
            self.failures += action == "Count"
            if self.failures > BACK_OFF_LIMIT:
                raise AssertionError(f"the Job has reached its backoffLimit: {self.statuses}")
            self.pods[rank] = self._new_pod(rank)

    def run_until(self, done, what):
        deadline = time.monotonic() + JOB_SECONDS_MAX
        while not done():
            self.reconcile()
            if time.monotonic() > deadline:
                raise AssertionError(f"not within {JOB_SECONDS_MAX} s: {what}; pods ended with {self.statuses}")
            time.sleep(0.02)

    def step(self):
        """The newest step at which a checkpoint was written."""
        return max((int(found[0]) for process in self._job.started for found in BITS.findall(process.text())), default=-1)

    def is_complete(self):
        return len(self.complete) == RANKS


def failure_policy_of_the_emitted_job():
    """The rules for exit codes that `shoal launch --emit kubernetes` writes, in their order."""
    text = subprocess.run(program("shoal") + ["launch", "--ps", "2", "--workers", "2", "--emit", "kubernetes", "--", "/bits",
                                              "--model-dir", "/m"], check=True, stdout=subprocess.PIPE, text=True).stdout
    rules, action = [], ""
    for line in text[text.index("podFailurePolicy:"):text.index("template:")].splitlines():
        words = line.split()
        if "action:" in words:
            action = words[words.index("action:") + 1]
        if words and words[0] == "values:":
            rules.append((action, [int(code) for code in line[line.index("[") + 1:line.index("]")].split(",")]))
    return rules


def bits_of(job):
    """The bits by step; a step that was trained again must have the same bits."""
    bits = {}
    for process in job.started:
        for step, said in BITS.findall(process.text()):
            if bits.setdefault(int(step), said) != said:
                raise AssertionError(f"step {step} had {bits[int(step)]}, and then {said} from {process.name}")
    return bits


class IndexedJobTest(unittest.TestCase):
    def undisturbed_bits(self):
        with Job(flags=FLAGS[:6]) as job:  # a checkpoint for each step
            self.assertEqual(job.start("local", "--replicas", "3", command=program("bits")).wait(), 0)
            return bits_of(job)

    def test_drains_of_each_of_two_and_of_all(self):
        policy = failure_policy_of_the_emitted_job()
        self.assertEqual(policy, [("Ignore", [143]), ("FailJob", [2, 3, 4])])
        expected = self.undisturbed_bits()
        drains = [[rank] for rank in range(RANKS)] + [[0, 1], [2, 3], list(range(RANKS))]
        with Job() as job:
            controller = IndexedJob(job, policy)
            for number, ranks in enumerate(drains):
                at = 2 + 5 * number
                controller.run_until(lambda: controller.step() >= at, f"step {at}, before the drain of {ranks}")
                ended_before = len(controller.statuses)
                controller.delete(*ranks)
                gone = lambda: {rank for rank, _ in controller.statuses[ended_before:]} >= set(ranks)
                controller.run_until(gone, f"the end of {ranks}")
                self.assertEqual({status for _, status in controller.statuses[ended_before:]}, {143}, controller.statuses)
                self.assertIsNone(job.finished())
            controller.run_until(controller.is_complete, "the end of the Job")
            self.assertEqual(controller.failures, 0)
            self.assertEqual(job.finished()["reason"], "max_steps")
            bits = bits_of(job)
            self.assertEqual(max(bits), STEPS)
            self.assertEqual(bits, {step: expected[step] for step in bits})


if __name__ == "__main__":
    unittest.main(verbosity=2)
