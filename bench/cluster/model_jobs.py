# SPDX-License-Identifier: Apache-2.0
"""Runs of model_job, for the scripts that compare them."""
import json
import os
import socket
import subprocess
import sys
import tempfile

SECONDS_MAX = 900  # for one run
FORMS = ("threads", "shm", "tcp")


def cluster_of(servers, trainers):
    """The "cluster" of a TF_CONFIG, with ports of this machine that were free just now."""
    probes = [socket.create_server(("127.0.0.1", 0)) for _ in range(servers + trainers)]
    addresses = [f"127.0.0.1:{probe.getsockname()[1]}" for probe in probes]
    for probe in probes:
        probe.close()
    cluster = {"ps": addresses[:servers], "chief": addresses[servers:servers + 1], "worker": addresses[servers + 1:]}
    return {role: nodes for role, nodes in cluster.items() if nodes}


def tasks_of(cluster):
    """Name and TF_CONFIG of each."""
    for role, addresses in cluster.items():
        for index in range(len(addresses)):
            yield f"{role} {index}", json.dumps({"cluster": cluster, "task": {"type": role, "index": index}})


def last_line(text, name):
    """The JSON object that a program ended with."""
    lines = [line for line in text.splitlines() if line.startswith("{")]
    if not lines:
        sys.exit(f"{name} said nothing: {text[-2000:]}")
    return json.loads(lines[-1])


def step_ms(build, flags, trainers, form="threads"):
    """Milliseconds of a step of a job with one server; of one process that trains alone, where there are no trainers. `form`: one
    of FORMS, threads of one process or processes that share memory or talk over TCP."""
    program = os.path.join(build, "bin", "bench", "model_job")
    with tempfile.TemporaryDirectory() as folder:
        command = [program, *flags, "--model-dir", os.path.join(folder, "m"), "--quiet"]
        if not trainers or form == "threads":
            size = "ps:1" + (f",worker:{trainers - 1}" if trainers > 1 else "")
            done = subprocess.run(command + (["--cluster", size] if trainers else []), text=True, timeout=SECONDS_MAX,
                                  stdout=subprocess.PIPE, check=True)
            return last_line(done.stdout, program)["ms"]
        processes = [subprocess.Popen(command + ["--transport", form], text=True, stdout=subprocess.PIPE,
                                      env={**os.environ, "TF_CONFIG": task}) for _, task in tasks_of(cluster_of(1, trainers))]
        texts = [process.communicate(timeout=SECONDS_MAX)[0] for process in processes]
        if any(process.returncode for process in processes):
            sys.exit(f"{program} over {form} failed")
        return last_line("".join(texts), program)["ms"]
