#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a command, and appends a line to a file when it has ended: the task that it was, its status, and the most KiB that were resident:
peak.py FILE COMMAND [ARGUMENTS...]. Signals that ask for an end are left to the command: the launcher sends them to both."""
import json
import os
import signal
import subprocess
import sys

path, *command = sys.argv[1:]
task = json.loads(os.environ.get("TF_CONFIG", "{}")).get("task", {"type": "local", "index": 0})
child = subprocess.Popen(command)
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, lambda _received, _frame: None)
_, status, usage = os.wait4(child.pid, 0)
code = os.waitstatus_to_exitcode(status)
with open(path, "a", encoding="utf-8") as file:
    file.write(f"{task['type']} {task['index']} {code} {usage.ru_maxrss}\n")
sys.exit(code if code >= 0 else 128 - code)
