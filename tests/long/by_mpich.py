#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The job by MPICH's mpiexec, with the variables that it sets."""
import outcome
import same_job
from job import free_port, program

MPIEXEC = "mpiexec.hydra"


def start(job):
    meet = ["-genv", "SHOAL_RENDEZVOUS", f"127.0.0.1:{free_port()}"]  # MPICH's jobs have no names that ports could follow from
    return [job.start(command=[MPIEXEC, *meet, "-n", str(same_job.RANKS), *program("bits")])]


def body():
    outcome.needs({MPIEXEC: "mpich"})
    return same_job.compare(start, f"mpiexec -n {same_job.RANKS}", source="pmi")


if __name__ == "__main__":
    outcome.end_with(body)
