#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each role under limits of memory, descriptors and threads, from where nothing works to where all does, in twenty steps each:
every end is a sentence and a documented status (docs/errors.md), never an abort or a hang."""
import collections
import os
import time

import outcome
from limits import LIMITS, ROLES, Undocumented, amounts, end_under

STEPS = 20


def body():
    begun = time.monotonic()
    ends = collections.Counter()
    wrong = []
    for role in ROLES:
        for kind in LIMITS:
            if kind == "threads" and os.geteuid() != 0:
                continue  # only root can be a user that has no other processes
            for amount in amounts(role, kind, STEPS):
                try:
                    ends[end_under(role, kind, amount)] += 1
                except Undocumented as end:
                    wrong.append(str(end))
    if wrong:
        raise AssertionError("\n".join(wrong))
    if not ends["0"]:
        raise AssertionError(f"nothing worked: {dict(ends)}")
    return {"seconds": time.monotonic() - begun, "how": ", ".join(f"{count} x {end}" for end, count in sorted(ends.items()))}


if __name__ == "__main__":
    outcome.end_with(body)
