#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The job by `shoal launch --hosts`, over ssh to three addresses of this machine."""
import pathlib
import tempfile

import outcome
import same_job
from job import program
from sshd import MACHINES, Sshd


def body():
    outcome.needs({"sshd": "openssh-server", "ssh": "openssh-client"})
    with tempfile.TemporaryDirectory(prefix="shoal-long-ssh-") as temporary:
        folder = pathlib.Path(temporary)
        with Sshd(folder / "sshd") as sshd:
            (folder / "hosts").write_text("".join(f"{machine}:{sshd.port}\n" for machine in MACHINES))
            launch = program("shoal") + ["launch", "--no-logs", "--hosts", str(folder / "hosts"), "--ssh", sshd.ssh(), "--ps", "1",
                                         "--workers", "2", "--"]
            return same_job.compare(lambda job: [job.start(command=launch + program("bits"), TMPDIR=str(folder))],
                                    "shoal launch --hosts HOSTS --ps 1 --workers 2, by ssh")


if __name__ == "__main__":
    outcome.end_with(body)
