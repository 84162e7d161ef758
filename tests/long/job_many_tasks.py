#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""200 tasks by `shoal launch`: all are connected within 20 s, and end right."""
import time

import outcome
from job import Job, program

SERVERS, WORKERS = 20, 179  # and a chief
CONNECTED_SECONDS = 20
STEPS = 20
SECONDS_MAX = 240


def body():
    with Job(flags=["--strategy", "sync", "--steps", str(STEPS), "--step-ms", "1", "--batch", "4"]) as job:
        launch = program("shoal") + ["launch", "--no-logs", "--ps", str(SERVERS), "--workers", str(WORKERS), "--"]
        begun = time.monotonic()
        process = job.start("local", command=launch + program("trainee"), TMPDIR=str(job.folder))
        # A synchronous step takes a gradient of every trainer to every server.
        process.wait_for(r"\[chief 0\] .*at step 1\b", seconds=SECONDS_MAX)
        connected = time.monotonic() - begun
        job.expect_all_end({"launch": process}, seconds=SECONDS_MAX)
        if job.newest_step() != STEPS:
            raise AssertionError(f"it ended at step {job.newest_step()}, not {STEPS}")
        if "was started again" in process.text():
            raise AssertionError("tasks failed and were started again")
        if connected > CONNECTED_SECONDS:
            raise AssertionError(f"all were connected after {connected:.1f} s, more than {CONNECTED_SECONDS}")
        return {"seconds": time.monotonic() - begun, "how": f"all had made the first step after {connected:.1f} s"}


if __name__ == "__main__":
    outcome.end_with(body)
