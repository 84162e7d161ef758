# SPDX-License-Identifier: Apache-2.0
"""PyTorch's side of compare: trains one model, step by step, when it is told to.

    train_torch.py --model NAME --batch N --threads N [--settings NAME] [--first-step | --steps N]

Without --settings it tries all that the model has (see settings()) and keeps the fastest. Then it writes one line of JSON,
{"settings", "trial_ms", ...}, and for each line "measure <seconds>" that it reads one more: {"steps", "ms"}, the time per step.
The end of its input ends it. With --first-step it trains 20 steps on one batch instead, and writes when the first had ended
(the monotonic clock, in ns) and the most memory that was resident. With --steps it trains so many steps, writes the number of
parameters and ends, for tools that count what a process does. Exit status 77 where PyTorch is not installed.
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
from torch_models import MODELS, WAYS  # noqa: E402

BATCHES = 8  # different ones, taken in turn


class Trainer:
    def __init__(self, kind, batch, variant, channels_last, way, form, batches=BATCHES):
        torch.manual_seed(1)
        model = kind(**kind.variants[variant])
        self.batches = [model.inputs(batch) for _ in range(batches)]
        if channels_last:
            model = model.to(memory_format=torch.channels_last)
            self.batches = [(images.to(memory_format=torch.channels_last), *rest) for images, *rest in self.batches]
        self.optimizer = model.optimizer(way)
        self.loss = model
        if form == "traced":
            self.loss = torch.jit.trace(model, self.batches[0], check_trace=False)
        elif form == "compiled":
            self.loss = torch.compile(model)
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
    for variant, channels_last, way, form in itertools.product(kind.variants, (False, True), WAYS, ("", "traced", "compiled")):
        if (channels_last and not kind.images) or (form == "compiled" and not hasattr(torch, "compile")):
            continue
        words = [variant, "channels_last" if channels_last else "", way, form]
        found["+".join(filter(None, words)) or "defaults"] = dict(variant=variant, channels_last=channels_last, way=way, form=form)
    return found


def ready(kind, batch, wanted):
    """Trainers of the settings that this PyTorch can do, by name, past their first steps."""
    trainers, left_out = {}, {}
    for name, setting in wanted.items():
        try:
            trainer = Trainer(kind, batch, **setting)
            for _ in range(3):  # a traced model is optimised in its second and third step
                trainer.step()
            trainers[name] = trainer
        except Exception as error:  # of a fused optimizer for sparse gradients, a compiler that is not there, ...
            left_out.setdefault((str(error).splitlines() or [type(error).__name__])[0], []).append(name)
    for reason, names in left_out.items():
        print(f"left out: {', '.join(names)}: {reason}", file=sys.stderr)
    return trainers


def halved(trainers, left, seconds=0.02):
    """The fastest `left` of them, as (milliseconds, name): all get a short trial, the better half a longer one, and so on."""
    while True:
        order = sorted((trainer.measure(seconds)[1], name) for name, trainer in trainers.items())
        if len(order) <= left:
            return order
        trainers = {name: trainers[name] for _, name in order[:max(left, (len(order) + 1) // 2)]}
        seconds = min(2 * seconds, 0.3)


def choose(options, kind):
    """The fastest setting's trainer. Compiling takes long: only the two settings that are fastest without are compiled, too."""
    known = settings(kind)
    if options.settings:
        trainers = ready(kind, options.batch, {options.settings: known[options.settings]})
    else:
        trainers = ready(kind, options.batch, {name: one for name, one in known.items() if one["form"] != "compiled"})
        best = [name for _, name in halved(trainers, 2)]
        compiled = [{**known[name], "form": "compiled"} for name in best]
        trainers = {name: trainers[name] for name in best}
        trainers.update(ready(kind, options.batch, {name: one for name, one in known.items() if one in compiled}))
    (milliseconds, name), = halved(trainers, 1, 0.3)
    return name, milliseconds, trainers[name]


def blas_in_use():
    """The library that the matrix products came from."""
    if "BLAS_INFO=mkl" in torch.__config__.show():
        return "MKL"  # a part of PyTorch's own packages
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


def parameters(trainer):
    return sum(parameter.numel() for parameter in trainer.optimizer.param_groups[0]["params"])


def train(options, kind):
    trainer = Trainer(kind, options.batch, **settings(kind)[options.settings or "defaults"])
    for _ in range(options.steps):
        trainer.step()
    print(parameters(trainer))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=MODELS, required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--settings")
    parser.add_argument("--first-step", action="store_true")
    parser.add_argument("--steps", type=int)
    options = parser.parse_args()
    kind = MODELS[options.model]
    torch.set_num_threads(options.threads)
    torch.set_flush_denormal(True)
    if options.first_step:
        return first_step(options, kind)
    if options.steps:
        return train(options, kind)
    name, milliseconds, trainer = choose(options, kind)
    say(settings=name, trial_ms=milliseconds, version=torch.__version__, blas=blas_in_use(), blas_kernels=BLAS_KERNELS,
        parameters=parameters(trainer))
    for line in sys.stdin:
        steps, milliseconds = trainer.measure(float(line.split()[1]))
        say(steps=steps, ms=milliseconds)
    return None


if __name__ == "__main__":
    main()
