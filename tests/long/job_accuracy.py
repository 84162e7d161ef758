#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A first cluster of processes reads at least 99% of real digits right: one line, as README.md has it."""
import json
import os
import time

import outcome
from job import Job, program

LEAST = 0.99
SECONDS_MAX = 1500


def body():
    data = os.environ.get("SHOAL_DATA", "")
    if not os.path.isdir(data):
        raise outcome.Skip("SHOAL_DATA does not name a folder with MNIST")
    with Job() as job:
        job.flags.clear()  # each task takes its part of the cores by itself
        launch = program("shoal") + ["launch", "--no-logs", "--json", "--ps", "1", "--workers", "2", "--evaluator", "--"]
        begun = time.monotonic()
        process = job.start("local", command=launch + program("mnist") + ["--model", "cnn"], SHOAL_DATA=data,
                            TMPDIR=str(job.folder))
        job.expect_all_end({"launch": process}, seconds=SECONDS_MAX)
        results = json.loads(next(line for line in process.text().splitlines() if line.startswith("{")))
        if not results["accuracy"] >= LEAST:
            raise AssertionError(f"it reads {results['accuracy']:.2%} right, and has to read {LEAST:.0%}: {results}")
        return {"seconds": time.monotonic() - begun,
                "how": f"{results['accuracy']:.2%} of real digits read right at step {results['global_step']}"}


if __name__ == "__main__":
    outcome.end_with(body)
