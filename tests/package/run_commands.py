#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Executes the shell commands of the README and of pages, in order, in one folder for each page.

usage: run_commands.py [--without COMMAND] MNIST SHOAL PAGE...      COMMAND: what this build does not have

Three things differ from what a user does. `mnist` gets a small data set and few steps, and a page's step number becomes
that. Ports become free ones. Commands that would build everything, or run these tests again, are not executed; it is checked
that ./dev has them.
"""
import argparse
import os
import pathlib
import random
import re
import socket
import struct
import sys
import tempfile

from readme import code_blocks, execute_block

STEPS = 20
DEV = pathlib.Path(__file__).resolve().parents[2] / "dev"
NOT_RUN = {"git clone": None, "cmake -S": None, "./dev demo": "demo", "./dev test": "test"}  # and the command of ./dev that it needs


def write_data(folder):
    """40 images of noise: enough to train on, and no 70,000 digits to draw for each process."""
    numbers = random.Random(1)
    for part in ("train", "t10k"):
        images = struct.pack(">iiii", 0x803, 40, 28, 28) + numbers.randbytes(40 * 28 * 28)
        labels = struct.pack(">ii", 0x801, 40) + bytes(i % 10 for i in range(40))
        (folder / f"{part}-images-idx3-ubyte").write_bytes(images)
        (folder / f"{part}-labels-idx1-ubyte").write_bytes(labels)


def write_programs(folder, mnist, shoal):
    """build/bin as the pages have it. A process that fails in the background leaves a line in `failures`."""
    programs = folder / "build" / "bin"
    programs.mkdir(parents=True)
    (programs / "shoal").symlink_to(shoal)
    wrapper = programs / "mnist"
    wrapper.write_text(f"""#!/bin/sh
{mnist} --steps {STEPS} --batch 8 --save-checkpoints-steps 10 --throttle-secs 0 "$@" ||
  echo "status $? of mnist $* with TF_CONFIG=$TF_CONFIG" >> {folder}/failures
""")
    wrapper.chmod(0o755)


def free_ports(count):
    probes = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [str(probe.getsockname()[1]) for probe in probes]
    for probe in probes:
        probe.close()
    return ports


def adapted(block):
    written = sorted(set(re.findall(r"127\.0\.0\.1:(\d+)", block)))
    ports = dict(zip(written, free_ports(len(written))))
    block = re.sub(r"127\.0\.0\.1:(\d+)", lambda match: "127.0.0.1:" + ports[match.group(1)], block)
    return block.replace("model.ckpt-2000", f"model.ckpt-{STEPS}")


def execute(block, folder, environment):
    execute_block(block, folder, environment)
    failures = folder / "failures"
    if failures.exists():
        sys.exit("these commands failed:\n" + block + failures.read_text())


def not_run(block):
    """True for a block of commands that are only looked at."""
    found = [start for start in NOT_RUN if start in block]
    for start in found:
        print("not run here:", start)
        command = NOT_RUN[start]
        if command and f"command_{command}()" not in DEV.read_text():
            sys.exit(f"./dev has no command {command}")
    return bool(found)


def run_page(page, mnist, shoal):
    """Returns how many blocks of commands were executed."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_data(folder)
        write_programs(folder, mnist, shoal)
        environment = {key: value for key, value in os.environ.items() if key != "TF_CONFIG"}
        environment["SHOAL_DATA"] = name
        ran = [execute(adapted(block), folder, environment) for block in code_blocks(page, "sh") if not not_run(block)]
    return len(ran)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--without", action="append", default=[])
    parser.add_argument("mnist")
    parser.add_argument("shoal")
    parser.add_argument("pages", nargs="+")
    arguments = parser.parse_args()
    NOT_RUN.update(dict.fromkeys(arguments.without))
    for page in arguments.pages:
        if run_page(page, arguments.mnist, arguments.shoal) == 0:
            sys.exit(f"no command of {page} was run; did it change?")


main()
