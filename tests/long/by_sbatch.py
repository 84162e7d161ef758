#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The job by the script that `shoal launch --emit slurm` writes, on two nodes: sbatch takes it, first without starting it."""
import outcome
import same_job
import slurm
from job import program

NODES = str(len(slurm.NODES))
SUBMIT = """
cd {folder} && "$@" > job.sbatch && sbatch --test-only --nodes {nodes} job.sbatch && sbatch --wait --nodes {nodes} job.sbatch
status=$?
cat *.log
exit $status
"""


def start(job):
    cluster = slurm.Slurm(job)
    folder = job.folder / "submitted"
    folder.mkdir()
    emit = program("shoal") + ["launch", "--ps", "1", "--workers", "2", "--emit", "slurm", "--"]
    script = SUBMIT.format(folder=folder, nodes=NODES)
    submitted = job.start(command=["sh", "-c", script, "sh", *emit, *program("bits")], **cluster.variables())
    submitted.wait_for(r"sbatch: Job \d+ to start at .* using \d+ processors on nodes n\[1-2\]", seconds=same_job.SECONDS_MAX)
    return [submitted]


def body():
    slurm.enter()
    outcome.needs({"sbatch": "slurm-wlm"})
    return same_job.compare(start, f"sbatch -N {NODES}, by shoal launch --emit slurm", source="slurm", token=True)


if __name__ == "__main__":
    outcome.end_with(body)
