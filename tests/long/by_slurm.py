#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The job by srun, on two nodes."""
import outcome
import same_job
import slurm
from job import program

NODES, RANKS = str(len(slurm.NODES)), str(same_job.RANKS)


def start(job):
    cluster = slurm.Slurm(job)
    srun = ["srun", "--nodes", NODES, "--ntasks", RANKS, "--immediate=30", "--kill-on-bad-exit=1"]
    return [job.start(command=srun + program("bits"), **cluster.variables())]


def body():
    slurm.enter()
    return same_job.compare(start, f"srun -N {NODES} -n {RANKS}, a token file", source="slurm", token=True)


if __name__ == "__main__":
    outcome.end_with(body)
