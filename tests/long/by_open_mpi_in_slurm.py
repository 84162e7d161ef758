#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The job by Open MPI's mpirun in an allocation of Slurm: ranks on two hosts, started by daemons that are a step of Slurm's."""
import outcome
import same_job
import slurm
from by_open_mpi import MPIRUN
from job import program

NODES, RANKS = str(len(slurm.NODES)), str(same_job.RANKS)


def start(job):
    cluster = slurm.Slurm(job)
    salloc = ["salloc", "--quiet", "--nodes", NODES, "--ntasks", RANKS, "--immediate=30"]
    mpirun = [MPIRUN, "--allow-run-as-root", "-n", RANKS, "-x", "SHOAL_TOKEN_FILE", "-x", "SHOAL_RENDEZVOUS"]
    return [job.start(command=salloc + mpirun + program("bits"), TMPDIR=str(job.folder),
                      SHOAL_RENDEZVOUS=f"{slurm.NODES[0]}:4000", **cluster.variables())]


def body():
    slurm.enter()
    outcome.needs({MPIRUN: "openmpi-bin"})
    return same_job.compare(start, f"salloc -N {NODES} -n {RANKS} mpirun -n {RANKS}", source="open-mpi", token=True)


if __name__ == "__main__":
    outcome.end_with(body)
