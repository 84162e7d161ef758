# SPDX-License-Identifier: Apache-2.0
"""Debian's Slurm on this machine: two node daemons that have networks and names of their own, a controller, and munge, all with
configuration, keys and state in the job's folder."""
import os
import subprocess
import time

import hosts
import outcome
from job import Process

NODES = ("n1", "n2")
CONTROLLER = "n0"
READY_SECONDS = 60
CONFIGURATION = """
ClusterName=shoal
SlurmctldHost={controller}({outside})
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
{nodes}
PartitionName=all Nodes=ALL Default=YES State=UP
"""


class Slurm:
    def __init__(self, job):
        self._job = job
        self._folder = job.folder / "slurm"
        for part in (".", "state", *(f"spool-{node}" for node in NODES)):
            (self._folder / part).mkdir()
        self.configuration = self._folder / "slurm.conf"
        self._network = hosts.Hosts(job.folder, [[node] for node in NODES], outside=CONTROLLER)
        nodes = "\n".join(f"NodeName={node} NodeAddr={self._network.address(i)} CPUs=2" for i, node in enumerate(NODES))
        self.configuration.write_text(CONFIGURATION.format(controller=CONTROLLER, outside=hosts.OUTSIDE, folder=self._folder,
                                                           nodes=nodes))
        self._start_munge()
        self._start("slurmctld", "slurmctld", "-D", "-f", self.configuration)
        for node in NODES:
            self._start(f"slurmd of {node}", *self._network.on(node), "slurmd", "-D", "-N", node, "-f", self.configuration)
        self._wait_for_nodes()

    def _start(self, name, *command):
        process = Process(name, [str(word) for word in command], dict(os.environ, SLURM_CONF=str(self.configuration)),
                          self._folder / f"{name}.out")
        self._job.started.append(process)

    def _start_munge(self):
        key = self._folder / "munge.key"
        key.touch(mode=0o600)
        key.write_bytes(os.urandom(128))
        # It minds that the job's folder is closed to other users: none is to come.
        self._start("munged", "munged", "--foreground", "--force", "--key-file", key, "--socket", self._folder / "munge.socket",
                    "--pid-file", self._folder / "munge.pid", "--log-file", self._folder / "munge.log",
                    "--seed-file", self._folder / "munge.seed")

    def _wait_for_nodes(self):
        deadline = time.monotonic() + READY_SECONDS
        while True:
            asked = subprocess.run(["sinfo", "--noheader", "--Node", "--format", "%t"], timeout=READY_SECONDS, text=True,
                                   env=dict(os.environ, SLURM_CONF=str(self.configuration)), capture_output=True)
            if asked.stdout.split() == ["idle"] * len(NODES):
                return
            if time.monotonic() > deadline:
                raise AssertionError(f"Slurm's nodes are not ready: {asked.stdout}{asked.stderr}")
            time.sleep(0.1)


    def variables(self):
        """For what asks Slurm for something, and a token that all tasks read from a file."""
        token = self._job.folder / "token"
        token.touch(mode=0o600)
        token.write_text(self._job.token)
        return {"SLURM_CONF": str(self.configuration), "SHOAL_TOKEN": None, "SHOAL_TOKEN_FILE": str(token)}


def enter():
    """As hosts.enter()."""
    hosts.enter()
    outcome.needs({"srun": "slurm-wlm", "sinfo": "slurm-wlm", "slurmctld": "slurm-wlm", "slurmd": "slurm-wlm",
                   "munged": "munge"})
