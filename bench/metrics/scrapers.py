#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What monitoring systems cost a task that has nothing else to do: a parameter server that waits for its chief.

usage: scrapers.py PROGRAM [--scrapers 100] [--every 1,15] [--seconds 60]     PROGRAM: any program on shoal::run, as build/bin/mnist

Each scraper keeps its connection and asks for /metrics every so many seconds, spread evenly. Prints for each interval the share of one
core that the task took more than without anyone asking, by /proc/PID/task/*/schedstat.
"""
import argparse
import json
import os
import re
import selectors
import socket
import subprocess
import tempfile
import time


def cpu_seconds(process):
    """Time on a processor of all threads. /proc/PID/stat counts in ticks of 10 ms, which is too coarse for what is measured here."""
    nanoseconds = 0
    for thread in os.listdir(f"/proc/{process}/task"):
        with open(f"/proc/{process}/task/{thread}/schedstat", encoding="ascii") as file:
            nanoseconds += int(file.read().split()[0])
    return nanoseconds / 1e9


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start_idle_task(program, folder):
    """(process, port) of a parameter server to which nobody comes."""
    cluster = {"chief": [f"127.0.0.1:{free_port()}"], "ps": [f"127.0.0.1:{free_port()}"]}
    config = json.dumps({"cluster": cluster, "task": {"type": "ps", "index": 0}})
    process = subprocess.Popen([program, "--model-dir", folder, "--metrics", "0"], env={**os.environ, "TF_CONFIG": config},
                               stderr=subprocess.PIPE, text=True)
    for line in process.stderr:
        found = re.search(r"http://127.0.0.1:(\d+)/metrics", line)
        if found:
            return process, int(found[1])
    raise SystemExit(f"{program} opened no endpoint; it ended with status {process.wait()}")


def scrape(process, port, scrapers, every, seconds):
    """Asks so often for so long; returns the number of answers, the bytes of one, and what all of them took of a processor."""
    request = b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/plain;version=0.0.4\r\n\r\n"
    connections = [socket.create_connection(("127.0.0.1", port)) for _ in range(scrapers)]
    for connection in connections:  # One that has asked nothing yet is closed after 10 s.
        connection.sendall(request)
        text = b""
        while not re.search(rb"\nprocess_start_time_seconds [^\n]*\n$", text):
            text += connection.recv(1 << 16)
    selector = selectors.DefaultSelector()
    for connection in connections:
        selector.register(connection, selectors.EVENT_READ)
    before, begun = cpu_seconds(process), time.monotonic()
    due = [(begun + every * number / scrapers, number) for number in range(scrapers)]
    answers, size, open_bytes = 0, 0, {connection: b"" for connection in connections}
    while time.monotonic() < begun + seconds:
        when, number = due[0]
        for key, _ in selector.select(max(0.0, min(when, begun + seconds) - time.monotonic())):
            part = key.fileobj.recv(1 << 16)
            if not part:
                raise SystemExit("a connection was closed")
            text = open_bytes[key.fileobj] + part
            head, split, body = text.partition(b"\r\n\r\n")
            length = re.search(rb"Content-Length: (\d+)", head)
            whole = bool(split) and len(body) >= int(length[1])
            answers += whole
            size = len(text) if whole else size
            open_bytes[key.fileobj] = b"" if whole else text
        if time.monotonic() >= when:
            connections[number].sendall(request)
            due = due[1:] + [(when + every, number)]
    spent = cpu_seconds(process) - before
    for connection in connections:
        connection.close()
    return answers, size, spent


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("program")
    arguments.add_argument("--scrapers", type=int, default=100)
    arguments.add_argument("--every", default="1,15", help="seconds between two questions of one scraper; several with commas")
    arguments.add_argument("--seconds", type=float, default=60, help="how long each measurement takes")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="shoal-scrapers-") as folder:
        process, port = start_idle_task(given.program, folder)
        try:
            before = cpu_seconds(process.pid)
            time.sleep(given.seconds)
            idle = cpu_seconds(process.pid) - before
            print(f"nobody asks: {100 * idle / given.seconds:.3f} % of a core")
            for every in map(float, given.every.split(",")):
                answers, size, spent = scrape(process.pid, port, given.scrapers, every, given.seconds)
                more = spent - idle
                print(f"{given.scrapers} scrapers every {every:g} s: {answers} answers of {size} bytes, "
                      f"{100 * more / given.seconds:.3f} % of a core more, {1e6 * more / max(answers, 1):.0f} us each")
        finally:
            process.kill()
            process.wait()
            process.stderr.close()


if __name__ == "__main__":
    main()
