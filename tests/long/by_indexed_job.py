#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The job as an Indexed Job of Kubernetes starts it: pods with networks and names of their own, which the headless service
makes names of, and the variables of docs/how-to/batch-systems.md."""
import hosts
import outcome
import same_job
from job import program

JOB, SERVICE = "train", "train-tasks"


def start(job):
    pods = [f"{JOB}-{rank}" for rank in range(same_job.RANKS)]
    full = [f"{pod}.{SERVICE}.default.svc.cluster.local" for pod in pods]
    network = hosts.Hosts(job.folder, [[pod, f"{pod}.{SERVICE}", name] for pod, name in zip(pods, full)])
    return [job.start(command=network.on(pod) + program("bits"), JOB_COMPLETION_INDEX=str(rank), HOSTNAME=pod,
                      SHOAL_WORLD_SIZE=str(same_job.RANKS), SHOAL_SERVICE=SERVICE)
            for rank, pod in enumerate(pods)]


def body():
    hosts.enter()
    # Each pod has its own network: nobody shares memory, though all are of one machine.
    return same_job.compare(start, "four pods, a headless service, --transport auto", flags=["--transport", "auto"],
                            source="indexed-job", token=True)


if __name__ == "__main__":
    outcome.end_with(body)
