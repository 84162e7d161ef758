# SPDX-License-Identifier: Apache-2.0
"""--memory-limit of each example, alone and as a job of chief, worker, server and evaluator: what a task says that it takes, and the most that
was resident. A limit that is too small is refused by name, before a step; within one that is enough no task takes more than 5 % beyond it; and
none is ever ended by a signal. Prints a table to standard error."""
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

import outcome

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = pathlib.Path(os.environ["SHOAL_TEST_MNIST"]).parent
STEPS = "40"
BEYOND = 1.05
SPREAD_MIB = 0.6  # What a task has resident differs by so much from run to run.
SECONDS_MAX = 600
# What each is told, and whether it reads real data; the others draw their own.
EXAMPLES = {"mnist": (["--batch", "64"], False), "cifar": (["--batch", "64"], False), "text": (["--batch", "16"], True),
            "adult": ([], True), "housing": ([], True)}
REFUSED = re.compile(r"takes (?:at most )?([\d.]+) MiB.*?runtime\.memory_limit is ([\d.]+) MiB")
BESIDE = re.compile(r"the process has ([\d.]+) MiB without it")


def run(example, flags, limit_mib, options, folder):
    """Its status, its errors, and by task the statuses and the largest resident sizes in MiB."""
    peaks, model_dir = folder / "peaks", folder / "m"
    peaks.unlink(missing_ok=True)
    subprocess.run(["rm", "-rf", model_dir], check=True)
    wrapper = [str(HERE / "memory" / "peak.py"), str(peaks)]
    own = [str(PROGRAMS / example), "--model-dir", str(model_dir), "--steps", STEPS, "--throttle-secs", "0", "--save-checkpoints-steps", "20",
           "--memory-limit", f"{round(limit_mib * 1024)}KiB", *flags]
    launch = [str(PROGRAMS / "shoal"), "launch", "--no-logs", "--max-restarts", "0", "--wrapper", " ".join(wrapper), *options, "--"]
    variables = {name: value for name, value in os.environ.items() if name != "SHOAL_DATA" or EXAMPLES[example][1]}
    ended = subprocess.run(launch + own if options else wrapper + own, env=variables, text=True, stdin=subprocess.DEVNULL,
                           capture_output=True, timeout=SECONDS_MAX)
    tasks = {}
    for line in peaks.read_text().splitlines():
        role, index, status, kib = line.split()
        tasks[f"{role} {index}"] = (int(status), int(kib) / 1024)
    return ended.returncode, ended.stderr, tasks


def needed(errors):
    """The largest sum that a task has said, in MiB; nothing if none was refused."""
    sums = []
    for line in errors.splitlines():
        if found := REFUSED.search(line):
            beside = BESIDE.search(line)
            sums.append(float(found[1]) + (float(beside[1]) if beside else 0))
    return max(sums, default=None)


def look(example, flags, options, folder):
    """Rows of the table: the limit, what was said to be needed, the status, and the tasks' peaks."""
    limit, rows = 1.0, []
    while True:
        status, errors, tasks = run(example, flags, limit, options, folder)
        for task, (code, peak) in tasks.items():
            if code < 0 and code != -signal.SIGTERM:  # The launcher stops a task that waits before it looks at signals.
                raise AssertionError(f"{example}, {task}: ended by signal {-code} with a limit of {limit} MiB\n{errors[-3000:]}")
            if peak > BEYOND * limit and status == 0:
                raise AssertionError(f"{example}, {task}: {peak:.1f} MiB within a limit of {limit} MiB")
        said = needed(errors)
        rows.append((limit, said, status, tasks))
        if status == 0:
            return rows
        if said is None or said < limit - SPREAD_MIB:
            raise AssertionError(f"{example}: status {status} with a limit of {limit} MiB\n{errors[-3000:]}")
        limit = round(max(said, limit) + SPREAD_MIB, 1)


def body():
    data, begun, shown = os.environ.get("SHOAL_DATA"), time.monotonic(), 0
    ways = {"alone": [], "a job": ["--ps", "1", "--workers", "1", "--evaluator"]}
    chosen = os.environ.get("SHOAL_TEST_EXAMPLES", " ".join(EXAMPLES)).split()
    for example, (flags, needs_data) in ((name, EXAMPLES[name]) for name in chosen):
        if needs_data and not data:
            continue
        for way, options in ways.items():
            with tempfile.TemporaryDirectory() as folder:
                for limit, said, status, tasks in look(example, flags, options, pathlib.Path(folder)):
                    peaks = ", ".join(f"{task} {peak:.1f}" for task, (_, peak) in tasks.items())
                    told = f"refused, needs {said:.1f}" if said else f"status {status}"
                    print(f"{example:8} {way:6} limit {limit:7.1f} MiB: {told}; resident: {peaks}", file=sys.stderr, flush=True)
                    shown += 1
    return {"seconds": time.monotonic() - begun, "how": f"{shown} runs of the examples with limits of memory"}


if __name__ == "__main__":
    outcome.end_with(body)
