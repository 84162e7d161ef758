"""Training steps per second of PyTorch on the models of bench/train; one line of JSON per model, batch size and threads.

    train_torch.py [--model cnn,mlp] [--batch 32,128] [--threads 1,2] [--rounds 7] [--seconds 0.5]

Tries the settings below and reports the fastest of them, with its name. Exit status 77 where PyTorch is not installed.
"""
import argparse
import itertools
import json
import os
import statistics
import sys
import time


def choose_openblas_kernels():
    """OpenBLAS 0.3.21 takes newer Xeons for a Prescott (SSE3) and loses half its speed or more; this says what they are.
    It must happen before the library is loaded."""
    with open("/proc/cpuinfo") as file:
        flags = next((line.split() for line in file if line.startswith("flags")), [])
    for flag, core in (("avx512_bf16", "Cooperlake"), ("avx512dq", "SkylakeX"), ("avx2", "Haswell")):
        if flag in flags:
            return os.environ.setdefault("OPENBLAS_CORETYPE", core)
    return "its own choice"


BLAS_KERNELS = choose_openblas_kernels()
try:
    import torch
    from torch import nn
except ImportError as error:
    print(f"skipped: {error} (Debian: python3-torch)", file=sys.stderr)
    sys.exit(77)

BATCHES = 8  # different ones, taken in turn


def make_model(name):
    if name == "mlp":
        return nn.Sequential(nn.Flatten(), nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(),
                             nn.Linear(512, 10))
    return nn.Sequential(nn.Conv2d(1, 32, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(32, 64, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Linear(3136, 1024), nn.ReLU(), nn.Linear(1024, 10))


class Trainer:
    """SGD with momentum 0.9 on random images."""

    def __init__(self, name, batch, channels_last, foreach, traced):
        torch.manual_seed(1)
        layout = torch.channels_last if channels_last else torch.contiguous_format
        model = make_model(name).to(memory_format=layout)
        self.batches = [(torch.rand(batch, 1, 28, 28).to(memory_format=layout), torch.randint(10, (batch,)))
                        for _ in range(BATCHES)]
        self.model = torch.jit.trace(model, self.batches[0][0]) if traced else model
        self.loss = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, foreach=foreach)
        self.steps = 0

    def step(self):
        images, labels = self.batches[self.steps % BATCHES]
        self.steps += 1
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.loss(self.model(images), labels)
        loss.backward()
        self.optimizer.step()

    def milliseconds(self, seconds):
        start, steps = time.perf_counter(), 0
        while time.perf_counter() - start < seconds:
            self.step()
            steps += 1
        return (time.perf_counter() - start) * 1e3 / steps


def settings(model):
    for channels_last, foreach, traced in itertools.product((False, True) if model == "cnn" else (False,), (False, True),
                                                            (False, True)):
        name = "+".join(word for word, on in (("channels_last", channels_last), ("foreach", foreach), ("traced", traced))
                        if on) or "defaults"
        yield name, dict(channels_last=channels_last, foreach=foreach, traced=traced)


def measure(model, batch, threads, options):
    torch.set_num_threads(threads)
    torch.set_flush_denormal(True)
    trainers = {name: Trainer(model, batch, **setting) for name, setting in settings(model)}
    for trainer in trainers.values():
        for _ in range(5):
            trainer.step()
    # A short trial chooses; the chosen one is measured alone.
    best = min(trainers, key=lambda name: min(trainers[name].milliseconds(options.seconds / 2) for _ in range(2)))
    times = sorted(trainers[best].milliseconds(options.seconds) for _ in range(options.rounds))
    median = statistics.median(times)
    return {"system": "torch", "version": torch.__version__, "settings": best, "openblas": BLAS_KERNELS,
            "model": model, "batch": batch,
            "threads": threads, "examples_per_second": round(batch / median * 1e3, 1), "step_ms": round(median, 4),
            "step_ms_least": round(times[0], 4), "step_ms_most": round(times[-1], 4)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="cnn,mlp")
    parser.add_argument("--batch", default="32,128")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.5)
    options = parser.parse_args()
    for model in options.model.split(","):
        for batch in options.batch.split(","):
            for threads in options.threads.split(","):
                print(json.dumps(measure(model, int(batch), int(threads), options)), flush=True)


main()
