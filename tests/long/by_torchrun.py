#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The job as processes that have the variables of torchrun, whoever sets them."""
import outcome
import same_job
from job import free_port, program


def start(job):
    port = str(free_port())
    return [job.start(command=program("bits"), RANK=str(rank), WORLD_SIZE=str(same_job.RANKS), MASTER_ADDR="127.0.0.1",
                      MASTER_PORT=port)
            for rank in range(same_job.RANKS)]


if __name__ == "__main__":
    outcome.end_with(lambda: same_job.compare(start, "RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT", source="torchrun"))
