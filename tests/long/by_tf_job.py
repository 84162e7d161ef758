#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The job as Kubeflow's TFJob starts it: a pod and a service for each task, and TF_CONFIG in the form that its controller
writes; then the same job in a cluster that lists its workers sparsely (CONTRACT CL-9)."""
import json

import hosts
import outcome
import same_job
from job import program

JOB, NAMESPACE, PORT = "train", "default", 2222
WORKERS = (1, 4)  # of the sparse form


def pod_of(task):
    return f"{JOB}-{task.replace(' ', '-')}"


def service_of(task):
    return f"{pod_of(task)}.{NAMESPACE}.svc"


def address(task):
    return f"{service_of(task)}:{PORT}"


def tf_config(cluster, task):
    role, index = task.split()
    return json.dumps({"cluster": cluster, "task": {"type": role, "index": int(index)}, "environment": "cloud"},
                      separators=(",", ":"))


def start_all(job, network, cluster, tasks):
    return [job.start(task, command=network.on(pod_of(task)) + program("bits"), tf_config=tf_config(cluster, task))
            for task in tasks]


def body():
    hosts.enter()
    dense_workers = [task for task in same_job.TASKS if task.startswith("worker")]
    sparse_workers = [f"worker {index}" for index in WORKERS]
    others = [task for task in same_job.TASKS if not task.startswith("worker")]
    members = {task.split()[0]: [address(task)] for task in others}
    dense = members | {"worker": [address(task) for task in dense_workers]}
    sparse = members | {"worker": {task.split()[1]: address(task) for task in sparse_workers}}
    pods = []

    def network_of(job):
        if not pods:
            tasks = [*others, *dense_workers, *sparse_workers]
            names = {pod_of(task): service_of(task) for task in tasks}
            pods.append(hosts.Hosts(job.folder, [list(pair) for pair in names.items()]))
        return pods[0]

    found = same_job.compare(lambda job: start_all(job, network_of(job), dense, others + dense_workers),
                             "TF_CONFIG of a TFJob, dense and sparse", token=True)
    again = same_job.compare(lambda job: start_all(job, network_of(job), sparse, others + sparse_workers), "", token=True)
    found["other_steps"] = sorted({*found["other_steps"], *again["other_steps"]})
    if again["other_steps"]:
        found["bits"] = again["bits"]
    found["seconds"] += again["seconds"]
    return found


if __name__ == "__main__":
    outcome.end_with(body)
