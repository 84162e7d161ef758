#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random pipelines of up to ten stages give what plain lists give."""
import os
import re
import subprocess
import time

import outcome
from job import program

PIPELINES = 100_000
FIRST = 1_000_000  # other seeds than those that run with every build


def body():
    begun = time.monotonic()
    command = program("data_tests") + ["--gtest_filter=*AgainstModel.YieldsWhatTheModelYields*", "--gtest_brief=1"]
    ended = subprocess.run(command, env=os.environ | {"SHOAL_TEST_PIPELINES": str(PIPELINES), "SHOAL_TEST_PIPELINES_FROM": str(FIRST)},
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if ended.returncode != 0 or not re.search(r"\[  PASSED  \] [1-9]", ended.stdout):
        raise AssertionError(f"status {ended.returncode}\n{ended.stdout[-4000:]}")
    seconds = time.monotonic() - begun
    return {"seconds": seconds, "how": f"{PIPELINES} pipelines as plain lists give them, {PIPELINES / seconds:.0f} a second"}


if __name__ == "__main__":
    outcome.end_with(body)
