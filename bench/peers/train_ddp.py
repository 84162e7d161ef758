# SPDX-License-Identifier: Apache-2.0
"""PyTorch's side of compare_distributed: trains one model with DistributedDataParallel over gloo, a process for each trainer.

    train_ddp.py --model NAME --batch N --trainers N --threads N [--seconds S] [--settings NAMES]

Tries all settings (channels_last, how the optimizer goes over parameters, gradients as views of buckets, sizes of buckets) for a
short time each, in turn and several times, then the faster half for longer, until one is left, and measures that; with
--settings, the ones that an earlier run has found. Writes one line of JSON: {"settings", "ms"}, the time of a step, in which
each trainer computes a batch. Exit status 77 where PyTorch, or gloo, is not there.
"""
import argparse
import itertools
import json
import os
import socket
import sys
import time

from train_torch import torch  # and its choice of OpenBLAS's kernels, before the library is loaded
import torch.distributed as distributed
import torch.multiprocessing as multiprocessing
from torch.nn.parallel import DistributedDataParallel
from torch_models import MODELS, WAYS

BATCHES = 8  # different ones, taken in turn
TRIALS = 2  # of each of the settings that are left, in turn; the fastest counts, since a machine is not always at its best


class Trainer:
    def __init__(self, kind, batch, rank, channels_last, way, views, bucket_mb):
        torch.manual_seed(1)
        model = kind()
        torch.manual_seed(100 + rank)
        self.batches = [model.inputs(batch) for _ in range(BATCHES)]
        if channels_last:
            model = model.to(memory_format=torch.channels_last)
            self.batches = [(images.to(memory_format=torch.channels_last), *rest) for images, *rest in self.batches]
        self.optimizer = model.optimizer(way)
        self.loss = DistributedDataParallel(model, gradient_as_bucket_view=views, bucket_cap_mb=bucket_mb)
        self.steps = 0

    def step(self):
        inputs = self.batches[self.steps % BATCHES]
        self.steps += 1
        self.optimizer.zero_grad(set_to_none=True)
        self.loss(*inputs).backward()
        self.optimizer.step()

    def measure(self, seconds):
        """Milliseconds of a step, the same on all trainers: the first decides when it is enough."""
        start, steps, over = time.perf_counter(), 0, False
        while not over:
            for _ in range(5):
                self.step()
            steps += 5
            decided = torch.tensor([float(time.perf_counter() - start > seconds)])
            distributed.broadcast(decided, 0)
            over = bool(decided.item())
        spent = torch.tensor([(time.perf_counter() - start) * 1e3 / steps])
        distributed.broadcast(spent, 0)
        return spent.item()


def settings(kind):
    found = {}
    version = tuple(int(part) for part in torch.__version__.split(".")[:2])
    ways = [way for way in WAYS if way != "fused" or version >= (2, 6)]  # its fused optimizers for processors are all there
    for channels_last, way, views, bucket_mb in itertools.product((False, True), ways, (False, True), (1, 25)):
        if channels_last and not kind.images:
            continue
        words = ["channels_last" if channels_last else "", way, "views" if views else "", f"{bucket_mb} MB"]
        found["+".join(filter(None, words))] = dict(channels_last=channels_last, way=way, views=views, bucket_mb=bucket_mb)
    return found


def train(rank, options, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), USE_LIBUV="0")  # for the meeting only; not all builds have it
    torch.set_num_threads(options.threads)
    torch.set_flush_denormal(True)
    distributed.init_process_group("gloo", rank=rank, world_size=options.trainers)
    kind = MODELS[options.model]
    trainers = {name: Trainer(kind, options.batch, rank, **setting) for name, setting in settings(kind).items()
                if options.settings in (None, name)}
    seconds = 0.1
    while len(trainers) > 1:
        for trainer in trainers.values():
            trainer.step()
        times = {}
        for _ in range(TRIALS):
            for name, trainer in trainers.items():
                times[name] = min(times.get(name, float("inf")), trainer.measure(seconds))
        trainers = {name: trainers[name] for name in sorted(times, key=times.get)[:(len(times) + 1) // 2]}
        seconds = min(2 * seconds, 0.4)
    (name, trainer), = trainers.items()
    for _ in range(3):  # Without trials it has not run yet.
        trainer.step()
    milliseconds = trainer.measure(options.seconds)
    if rank == 0:
        print(json.dumps({"settings": name, "ms": milliseconds}), flush=True)
    distributed.barrier()
    os._exit(0)  # destroy_process_group() of PyTorch 1.13 sometimes waits for ever


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=MODELS, required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--trainers", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--settings", help="those to measure, without trying others")
    options = parser.parse_args()
    known = settings(MODELS[options.model])
    if options.settings not in (None, *known):
        parser.error(f"there are no settings {options.settings}; for {options.model} there are: {', '.join(known)}")
    if not distributed.is_available() or not distributed.is_gloo_available():
        print("skipped: this PyTorch has no gloo", file=sys.stderr)
        sys.exit(77)
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    multiprocessing.spawn(train, args=(options, port), nprocs=options.trainers)


if __name__ == "__main__":
    main()
