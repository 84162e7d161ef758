#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A synchronous job of 5 minutes with 4 workers, 2 servers and an evaluator, of which every 15 s a task is killed: it ends with
the step and the very weights that it has without, in 3 times the time at most, and the launcher says what was lost, and how
long each task was away."""
import re
import time

import outcome
from job import Job, program

STEPS = 3000
STEP_MS = 100  # 5 minutes
KILL_SECONDS = 15
TIMES_MAX = 3
SECONDS_MAX = 1200
FLAGS = ["--strategy", "sync", "--seed", "5", "--steps", str(STEPS), "--step-ms", str(STEP_MS),
         "--save-checkpoints-secs", "10", "--throttle-secs", "10"]
SUMMARY = re.compile(r"^\[launch\] (\w+ \d+) was started again (\d+) times? \((\d+) of them after chaos\)"
                     r"; it was back after ([\d., ]+) s$", re.MULTILINE)
KILL = re.compile(r"^\[launch\] chaos: (\w+ \d+) is killed$", re.MULTILINE)


def weights_of(job):
    newest = job.model_dir / job.shoal("checkpoint", "list", job.model_dir)["newest"]
    names = [each["name"] for each in job.shoal("checkpoint", "show", newest)["variables"]]
    return {name: job.shoal("checkpoint", "show", newest, "--values", name)["values"] for name in names}


def run(*options):
    """The seconds that it took, the weights, and what was written."""
    with Job(flags=FLAGS) as job:
        launch = program("shoal") + ["launch", "--no-logs", "--ps", "2", "--workers", "4", "--evaluator", *options, "--"]
        begun = time.monotonic()
        process = job.start("local", command=launch + program("trainee"), TMPDIR=str(job.folder))
        job.expect_all_end({"launch": process}, seconds=SECONDS_MAX)
        seconds = time.monotonic() - begun
        if job.newest_step() != STEPS:  # which has an update for each step, no more and no fewer
            raise AssertionError(f"it ended at step {job.newest_step()}, not {STEPS}")
        if f"Evaluated at global step {STEPS}" not in process.text():
            raise AssertionError("the last step was not evaluated")
        return seconds, weights_of(job), process.text()


def check_summary(text):
    """That the launcher tells of every kill: whose, how often, and how long it took to come back."""
    kills = KILL.findall(text)
    told = {task: int(by_chaos) for task, _, by_chaos, _ in SUMMARY.findall(text)}
    expected = {task: kills.count(task) for task in kills}
    if told != expected:
        raise AssertionError(f"killed were {expected}, and the summary says {told}")
    return kills


def body():
    undisturbed, expected, _ = run()
    disturbed, weights, text = run("--chaos", str(KILL_SECONDS))
    kills = check_summary(text)
    if len(kills) < 10:
        raise AssertionError(f"only {len(kills)} tasks were killed")
    if weights != expected:
        raise AssertionError("it has other weights than without kills")
    if disturbed > TIMES_MAX * undisturbed:
        raise AssertionError(f"it took {disturbed:.0f} s, and {undisturbed:.0f} s without kills")
    return {"seconds": undisturbed + disturbed,
            "how": f"{len(kills)} kills; {disturbed:.0f} s, without {undisturbed:.0f} s, the same weights"}


if __name__ == "__main__":
    outcome.end_with(body)
