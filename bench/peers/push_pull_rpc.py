#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""push_pull_bench over torch.distributed.rpc: a worker process sends a tensor, a server process adds it to its own and returns
the sum.

    push_pull_rpc.py [--bytes 4096,65536] [--seconds 1] [--transport default|tcp]    writes a line of JSON for each size

"default" lets TensorPipe choose, which takes shared memory between processes of one host; "tcp" leaves it only TCP. Exit status
77 where PyTorch is not installed.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

try:
    import torch
    from torch.distributed import rpc
except ImportError as error:
    print(f"skipped: {error} (Debian: python3-torch)", file=sys.stderr)
    sys.exit(77)

ROUNDS_MAX = 200_000
own = {}


def add(value):
    """In the server."""
    if value.numel() not in own:
        own.clear()
        own[value.numel()] = torch.zeros_like(value)
    own[value.numel()] = own[value.numel()] + value
    return own[value.numel()]


def rounds(value, seconds):
    taken = []
    end = time.perf_counter() + seconds
    while (time.perf_counter() < end or len(taken) < 3) and len(taken) < ROUNDS_MAX:
        start = time.perf_counter()
        total = rpc.rpc_sync("server", add, args=(value,))
        taken.append(time.perf_counter() - start)
        assert total.numel() == value.numel()
    return taken


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bytes", default="4096,65536,1048576,16777216,100000000")
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--transport", choices=("default", "tcp"), default="default")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    args = parser.parse_args()
    torch.set_num_threads(1)
    meet_at = args.serve or f"file:///tmp/push-pull-rpc-{os.getpid()}"
    options = rpc.TensorPipeRpcBackendOptions(init_method=meet_at, rpc_timeout=60)
    if args.transport == "tcp":
        options._transports = ["uv"]
        options._channels = ["basic"]
    if args.serve:
        rpc.init_rpc("server", rank=1, world_size=2, rpc_backend_options=options)
        rpc.shutdown()
        return
    server = subprocess.Popen([sys.executable, __file__, "--serve", meet_at, "--transport", args.transport])
    rpc.init_rpc("worker", rank=0, world_size=2, rpc_backend_options=options)
    for size in map(int, args.bytes.split(",")):
        value = torch.ones(size // 4)
        rounds(value, 0.05)
        taken = rounds(value, args.seconds)
        print(json.dumps({"transport": f"rpc {args.transport}", "bytes": size,
                          "median_us": round(1e6 * statistics.median(taken), 2)}), flush=True)
    rpc.shutdown()
    server.wait(60)


if __name__ == "__main__":
    main()
