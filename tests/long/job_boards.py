#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Five boards as they are: each has half a core and 256 MiB, and a line of 10 Mbit/s; what goes to and from the server takes 20 ms more each way. One
board's clock begins in 1970, another's jumps by an hour, and the chief's disk fills up for a while, which a spare folder
bridges. Through `mnist launch --hosts` they train
LeNet-5 on MNIST, synchronously and with compression, to an accuracy of 98 %. Prints what it took to standard error."""
import hosts

hosts.enter()

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import outcome
from sshd import Sshd

HERE = pathlib.Path(__file__).resolve().parent
BOARDS = ["board1", "board2", "board3", "board4", "board5"]
SERVER = "board5"  # The trainers are dealt to the others, and a server goes where the fewest train.
CGROUPS = pathlib.Path("/sys/fs/cgroup")
MEMORY_MIB, QUOTA_US, PERIOD_US = 256, 50_000, 100_000
MBIT, DELAY_MS = 10, 20
STEPS = int(os.environ.get("SHOAL_TEST_BOARDS_STEPS", "600"))
ACCURACY = 0.98
FULL_SECONDS = 4  # after a checkpoint has met it
SAVE_STEPS = STEPS // 24
SECONDS_MAX = 1500


def confine(board):
    """Makes the board's control groups. Returns words before a command that is to run within them."""
    name = f"shoal-test-{os.getpid()}-{board}"
    memory, cpu = CGROUPS / "memory" / name, CGROUPS / "cpu" / name
    for folder in (memory, cpu):
        folder.mkdir()
    (memory / "memory.limit_in_bytes").write_text(str(MEMORY_MIB << 20))
    (cpu / "cpu.cfs_period_us").write_text(str(PERIOD_US))
    (cpu / "cpu.cfs_quota_us").write_text(str(QUOTA_US))
    join = f'echo $$ > {memory}/cgroup.procs; echo $$ > {cpu}/cgroup.procs; exec "$@"'
    return (memory, cpu), ["sh", "-c", join, "sh"]


def wait_for(pattern, path, deadline):
    while time.monotonic() < deadline:
        if path.exists() and re.search(pattern, path.read_text(errors="replace")):
            return
        time.sleep(0.2)
    raise AssertionError(f"nothing like {pattern} came in time:\n{path.read_text(errors='replace')[-4000:]}")


def disturb(log, clocks, disk, told):
    """What happens to the boards while they train, in turn; in a thread of its own."""
    deadline = time.monotonic() + SECONDS_MAX
    wait_for(r"written at global step [1-9]", log, deadline)
    (clocks / "board3").write_text("+3600s\n")
    told.append("board3's clock jumped by an hour")
    wait_for(rf"written at global step {10 * SAVE_STEPS}\b", log, deadline)
    filler = disk / "filler"
    with open(filler, "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(1 << 16))
        except OSError:
            pass
    begun = time.monotonic()
    wait_for(r"written to the spare folder", log, deadline)
    time.sleep(FULL_SECONDS)
    filler.unlink()
    told.append(f"the chief's disk was full for {time.monotonic() - begun:.0f} s")


def traffic(network):
    """Mebibytes that went to and from the server's board."""
    shown = subprocess.run(["ip", "-json", "-statistics", "link", "show", f"to-{network}"], check=True, capture_output=True, text=True)
    counters = json.loads(shown.stdout)[0]["stats64"]
    return [counters[way]["bytes"] / (1 << 20) for way in ("tx", "rx")]


def body():
    outcome.needs({"sshd": "openssh-server", "ssh": "openssh-client", "tc": "iproute2", "ethtool": "ethtool", "faketime": "faketime"})
    if not (CGROUPS / "memory" / "cgroup.procs").exists() or not (CGROUPS / "cpu" / "cgroup.procs").exists():
        raise outcome.Skip("control groups of version 1 are not mounted")
    groups, servers, told = [], [], []
    with tempfile.TemporaryDirectory(prefix="shoal-boards-") as temporary:
        folder = pathlib.Path(temporary)
        disk, clocks, log = folder / "disk", folder / "clocks", folder / "log"
        disk.mkdir()
        clocks.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(disk)], check=True)
        (clocks / "board2").write_text("@1970-01-01 00:00:10\n")
        (clocks / "board3").write_text("+0\n")
        try:
            network = hosts.Hosts(folder, [[name] for name in BOARDS])
            config = ["IdentitiesOnly yes", "GlobalKnownHostsFile /dev/null", f"UserKnownHostsFile {folder}/known_hosts"]
            lines = []
            for number, name in enumerate(BOARDS):
                network.slow_down(number, name, MBIT)
                if name == SERVER:
                    network.delay(number, name, DELAY_MS)
                group, within = confine(name)
                groups.append((name, group))
                server = Sshd(folder / f"sshd-{name}", (network.address(number),), within + network.on(name))
                server.__enter__()
                servers.append(server)
                config.append(f"IdentityFile {server.folder}/user_key")
                with open(folder / "known_hosts", "a", encoding="utf-8") as known:
                    known.write(server.known_hosts.read_text())
                lines.append(f"{network.address(number)}:{server.port}")
            (folder / "ssh_config").write_text("\n".join(config) + "\n")
            (folder / "boards").write_text("\n".join(lines) + "\n")
            mnist = os.environ["SHOAL_TEST_MNIST"]
            data = ["--data-dir", os.environ["SHOAL_DATA"]] if os.environ.get("SHOAL_DATA") else []
            launch = [*shlex.split(mnist), "launch", "--no-logs", "--hosts", str(folder / "boards"), "--ssh", f"ssh -F {folder}/ssh_config",
                      "--wrapper", f"{HERE / 'boards' / 'clock.sh'} {clocks}", "--ps", "1", "--workers", "3", "--evaluator", "--",
                      "--model-dir", str(disk / "m"), "--model", "lenet5", "--steps", str(STEPS), "--batch", "64", "--strategy", "sync",
                      "--compression", "int8", "--save-checkpoints-steps", str(SAVE_STEPS), "--spare-dir", str(folder / "spare"),
                      "--throttle-secs", "20", "--learning-rate", "0.002", "--seed", "1", *data]
            begun = time.monotonic()
            disturbing = threading.Thread(target=disturb, args=(log, clocks, disk, told), daemon=True)
            with open(log, "wb") as file:
                job = subprocess.Popen(launch, stdin=subprocess.DEVNULL, stdout=file, stderr=file, cwd=folder)
            disturbing.start()
            status = job.wait(timeout=SECONDS_MAX)
            seconds = time.monotonic() - begun
            text = log.read_text(errors="replace")
            keep = os.environ.get("SHOAL_TEST_KEEP_LOG")
            if keep:
                shutil.copy(log, keep)
            found = re.findall(rf"Evaluated at global step {STEPS}: accuracy ([\d.]+)", text)
            if status != 0 or not found or float(found[-1]) < ACCURACY:
                raise AssertionError(f"status {status}, accuracy {found}:\n{text[-6000:]}")
            if "chief 0 ended" in text or "this one is written to the spare folder" not in text:
                raise AssertionError(f"the full disk has ended the chief, or nothing was written to the spare folder:\n{text[-6000:]}")
            if len(told) != 2:
                raise AssertionError(f"it was over before all had happened: {told}")
            sent, received = traffic(BOARDS.index(SERVER))
            print(f"{seconds:.0f} s, accuracy {found[-1]}; to the server {sent:.0f} MiB, from it {received:.0f} MiB; {'; '.join(told)}",
                  file=sys.stderr)
            for name, (memory, cpu) in groups:
                peak = int((memory / "memory.max_usage_in_bytes").read_text()) >> 20
                throttled = re.search(r"nr_throttled (\d+)", (cpu / "cpu.stat").read_text())
                print(f"{name}: at most {peak} MiB with its page cache, {throttled[1]} times out of its half core", file=sys.stderr)
            return {"seconds": seconds, "how": f"five boards, LeNet-5 to {found[-1]}"}
        finally:
            for server in servers:
                server.__exit__()
            subprocess.run(["umount", "-l", str(disk)], check=False)
            for _, group in groups:
                for path in group:
                    try:
                        for pid in (path / "cgroup.procs").read_text().split():
                            os.kill(int(pid), 9)
                        time.sleep(0.3)
                        path.rmdir()
                    except OSError:
                        pass


if __name__ == "__main__":
    outcome.end_with(body)
