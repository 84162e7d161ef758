#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The job by Open MPI's mpirun, with the variables that it sets."""
import os

import outcome
import same_job
from job import program

MPIRUN = "mpirun.openmpi"


def start(job):
    command = [MPIRUN, "--oversubscribe", "-n", str(same_job.RANKS)]
    if os.geteuid() == 0:
        command.append("--allow-run-as-root")
    return [job.start(command=command + program("bits"), TMPDIR=str(job.folder))]


def body():
    outcome.needs({MPIRUN: "openmpi-bin"})
    # All ranks are on one host: some connections are by shared memory then.
    return same_job.compare(start, f"mpirun -n {same_job.RANKS}, --transport auto", flags=["--transport", "auto"],
                            source="open-mpi")


if __name__ == "__main__":
    outcome.end_with(body)
