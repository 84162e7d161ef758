"""PyTorch's side of compare: trains one model, step by step, when it is told to.

    train_torch.py --model NAME --batch N --threads N [--settings NAME] [--first-step]

Without --settings it tries all that the model has (see settings()) and keeps the fastest. Then it writes one line of JSON,
{"settings", "trial_ms", ...}, and for each line "measure <seconds>" that it reads one more: {"steps", "ms"}, the time per step.
The end of its input ends it. With --first-step it trains 20 steps on one batch instead, and writes when the first had ended
(the monotonic clock, in ns) and the most memory that was resident. Exit status 77 where PyTorch is not installed.
"""
import argparse
import itertools
import json
import os
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
except ImportError as error:
    print(f"skipped: {error} (Debian: python3-torch)", file=sys.stderr)
    sys.exit(77)

sys.dont_write_bytecode = True  # the source tree stays as it is
from torch_models import MODELS  # noqa: E402

BATCHES = 8  # different ones, taken in turn


class Trainer:
    def __init__(self, kind, batch, variant, channels_last, foreach, traced, batches=BATCHES):
        torch.manual_seed(1)
        model = kind(**kind.variants[variant])
        self.batches = [model.inputs(batch) for _ in range(batches)]
        if channels_last:
            model = model.to(memory_format=torch.channels_last)
            self.batches = [(images.to(memory_format=torch.channels_last), *rest) for images, *rest in self.batches]
        self.optimizer = model.optimizer(foreach=foreach)
        self.loss = torch.jit.trace(model, self.batches[0], check_trace=False) if traced else model
        self.steps = 0

    def step(self):
        inputs = self.batches[self.steps % len(self.batches)]
        self.steps += 1
        self.optimizer.zero_grad(set_to_none=True)
        self.loss(*inputs).backward()
        self.optimizer.step()

    def measure(self, seconds):
        """(steps, milliseconds per step), over at least one step."""
        start, steps = time.perf_counter(), 0
        while steps == 0 or time.perf_counter() - start < seconds:
            self.step()
            steps += 1
        return steps, (time.perf_counter() - start) * 1e3 / steps


def settings(kind):
    """All that may be tried, by name."""
    found = {}
    for variant, channels_last, foreach, traced in itertools.product(kind.variants, (False, True), (False, True),
                                                                     (False, True)):
        if channels_last and not kind.images:
            continue
        words = [variant, *(word for word, on in (("channels_last", channels_last), ("foreach", foreach),
                                                  ("traced", traced)) if on)]
        found["+".join(filter(None, words)) or "defaults"] = dict(variant=variant, channels_last=channels_last,
                                                                  foreach=foreach, traced=traced)
    return found


def choose(options, kind):
    """The fastest setting's trainer: all get a short trial, the better half a longer one, and so on."""
    trainers = {name: Trainer(kind, options.batch, **setting) for name, setting in settings(kind).items()
                if options.settings in (None, name)}
    for trainer in trainers.values():
        for _ in range(3):  # a traced model is optimised in its second and third step
            trainer.step()
    seconds = 0.02
    while True:
        times = {name: trainer.measure(seconds)[1] for name, trainer in trainers.items()}
        order = sorted(times, key=times.get)
        if len(order) == 1:
            return order[0], times[order[0]], trainers[order[0]]
        trainers = {name: trainers[name] for name in order[:(len(order) + 1) // 2]}
        seconds = min(2 * seconds, 0.3)


def blas_in_use():
    """The library that the matrix products came from."""
    with open("/proc/self/maps") as file:
        paths = {line.split()[-1] for line in file if "blas" in line.rsplit("/", 1)[-1]}
    return ", ".join(sorted(os.path.realpath(path) for path in paths)) or "none"


def peak_resident_kib():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))


def say(**values):
    print(json.dumps(values), flush=True)


def first_step(options, kind):
    name = options.settings or "defaults"
    trainer = Trainer(kind, options.batch, **settings(kind)[name], batches=1)
    trainer.step()
    ended = time.monotonic_ns()
    for _ in range(19):
        trainer.step()
    say(settings=name, first_step_ns=ended, peak_resident_kib=peak_resident_kib())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=MODELS, required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--settings")
    parser.add_argument("--first-step", action="store_true")
    options = parser.parse_args()
    kind = MODELS[options.model]
    torch.set_num_threads(options.threads)
    torch.set_flush_denormal(True)
    if options.first_step:
        return first_step(options, kind)
    name, milliseconds, trainer = choose(options, kind)
    say(settings=name, trial_ms=milliseconds, version=torch.__version__, blas=blas_in_use(), blas_kernels=BLAS_KERNELS,
        parameters=sum(parameter.numel() for parameter in trainer.optimizer.param_groups[0]["params"]))
    for line in sys.stdin:
        steps, milliseconds = trainer.measure(float(line.split()[1]))
        say(steps=steps, ms=milliseconds)
    return None


if __name__ == "__main__":
    main()
