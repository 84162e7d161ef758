#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The job by `shoal launch`."""
import outcome
import same_job
from job import program


def start(job):
    launch = program("shoal") + ["launch", "--no-logs", "--ps", "1", "--workers", "2", "--"]
    return [job.start(command=launch + program("bits"), TMPDIR=str(job.folder))]


if __name__ == "__main__":
    outcome.end_with(lambda: same_job.compare(start, "shoal launch --ps 1 --workers 2"))
