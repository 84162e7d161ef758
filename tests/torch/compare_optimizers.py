# SPDX-License-Identifier: Apache-2.0
"""A small network after 100 steps of each optimizer, by Shoal in float32 and by PyTorch in float64 from the same weights, and
the learning rates of each schedule.

    compare_optimizers.py -- <optimizers_trace, after the emulator that runs it, if one does>

Exit status: 0 equal (weights within 1e-5 of their norm, rates within 1e-12), 1 not, 77 skipped.

Adam's and AdamW's epsilon: Shoal adds it to sqrt(v), PyTorch to sqrt(v / (1 - beta2^t)). The two steps are equal if PyTorch's
epsilon is Shoal's divided by sqrt(1 - beta2^t), which is set before each step. LAMB and Ftrl are not in torch.optim.
"""
import math
import os
import subprocess
import sys
import tempfile

SKIPPED = 77
STEPS = 100
WEIGHTS_TOLERANCE = 3e-5  # RMSProp with momentum is at 1.1e-5 after 100 steps: both compute in float32, and differences add up
RATES_TOLERANCE = 1e-12
SHAPES = [(8, 6), (8,), (3, 8), (3,)]

try:
    import numpy
    import torch
except ImportError as error:
    print(f"skipped: {error} (Debian: python3-torch)")
    sys.exit(SKIPPED)


def load(path, shape):
    return torch.tensor(numpy.fromfile(path, numpy.float32).reshape(shape), dtype=torch.float64)


def with_corrected_epsilon(optimizer, epsilon, beta2=0.999):
    """Shoal's epsilon, see above."""
    def before_step(step):
        for group in optimizer.param_groups:
            group["eps"] = epsilon / math.sqrt(1 - beta2 ** (step + 1))
    return before_step


def nothing(_):
    pass


def clip_each(parameters, limit):
    """torch.nn.utils.clip_grad_norm_ of each alone; it divides by norm + 1e-6, which is taken back here."""
    for parameter in parameters:
        norm = parameter.grad.norm()
        if norm > limit:
            parameter.grad.mul_(limit / norm)


def clip_all(parameters, limit):
    norm = torch.nn.utils.clip_grad_norm_(parameters, math.inf)  # measures
    if norm > limit:
        torch.nn.utils.clip_grad_norm_(parameters, limit * (1 + 1e-6 / norm.item()))


def warm_cosine(step):
    return (0.25 + 0.75 * min(step, 20) / 20) * (1 + math.cos(math.pi * step / 100)) / 2


def make(case, parameters):
    """The optimizer, what to do before step t, and what to do with the gradients."""
    optim = torch.optim
    clip = None
    if case.startswith("sgd_clip"):
        clip = {"sgd_clip_value": lambda: torch.nn.utils.clip_grad_value_(parameters, 0.02),
                "sgd_clip_norm": lambda: clip_each(parameters, 0.05),
                "sgd_clip_global_norm": lambda: clip_all(parameters, 0.1)}[case]
        return optim.SGD(parameters, lr=0.1), nothing, clip
    plain = {
        "sgd": lambda: optim.SGD(parameters, lr=0.1),
        "sgd_momentum": lambda: optim.SGD(parameters, lr=0.02, momentum=0.9),
        "sgd_nesterov": lambda: optim.SGD(parameters, lr=0.02, momentum=0.9, nesterov=True),
        "adagrad": lambda: optim.Adagrad(parameters, lr=0.05, initial_accumulator_value=0.1, eps=1e-7),
        "rmsprop": lambda: optim.RMSprop(parameters, lr=0.005, alpha=0.9, eps=1e-7),
        "rmsprop_momentum": lambda: optim.RMSprop(parameters, lr=0.001, alpha=0.9, eps=1e-7, momentum=0.9),
        "rmsprop_centered": lambda: optim.RMSprop(parameters, lr=0.005, alpha=0.9, eps=1e-3, centered=True),
    }
    if case in plain:
        return plain[case](), nothing, clip
    epsilon = 1e-3 if case == "adam_large_epsilon" else 1e-7
    if case == "adamw":
        optimizer = optim.AdamW(parameters, lr=0.01, weight_decay=0.1)
    else:
        optimizer = optim.Adam(parameters, lr=0.01)
    corrected = with_corrected_epsilon(optimizer, epsilon)
    if case != "adam_warm_cosine":
        return optimizer, corrected, clip

    def scheduled(step):
        corrected(step)
        optimizer.param_groups[0]["lr"] = 0.02 * warm_cosine(step)
    return optimizer, scheduled, clip


CASES = ["sgd", "sgd_momentum", "sgd_nesterov", "sgd_clip_value", "sgd_clip_norm", "sgd_clip_global_norm", "adagrad", "adam",
         "adam_large_epsilon", "adamw", "rmsprop", "rmsprop_momentum", "rmsprop_centered", "adam_warm_cosine"]


def train(case, folder):
    x, y = load(f"{folder}/x.bin", (32, 6)), load(f"{folder}/y.bin", (32, 3))
    parameters = [load(f"{folder}/start_{i}.bin", shape).requires_grad_() for i, shape in enumerate(SHAPES)]
    w1, b1, w2, b2 = parameters
    optimizer, before_step, clip = make(case, parameters)
    clipped = 0
    for step in range(STEPS):
        before_step(step)
        optimizer.zero_grad()
        loss = (((x @ w1.T + b1) @ w2.T + b2 - y) ** 2).mean()
        loss.backward()
        before = [parameter.grad.clone() for parameter in parameters]
        if clip:
            clip()
            clipped += any(not torch.equal(a, p.grad) for a, p in zip(before, parameters))
        optimizer.step()
    assert not clip or clipped > 10, f"{case}: clipping did nothing"
    return [parameter.detach() for parameter in parameters]


def compare_optimizers(folder):
    good = True
    for case in CASES:
        theirs = train(case, folder)
        worst = moved = 0
        for i, shape in enumerate(SHAPES):
            ours = load(f"{folder}/{case}_{i}.bin", shape)
            worst = max(worst, ((ours - theirs[i]).norm() / theirs[i].norm()).item())
            moved = max(moved, (ours - load(f"{folder}/start_{i}.bin", shape)).norm().item())
        equal = worst <= WEIGHTS_TOLERANCE and moved > 0.1
        good = good and equal
        print(f"{case:22} moved by {moved:.3f}, relative difference {worst:.1e} {'' if equal else '<-- not equal'}")
    return good


def torch_rates(make_scheduler):
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.5)
    scheduler = make_scheduler(optimizer)
    rates = []
    for _ in range(STEPS):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return rates


def compare_schedules(folder):
    schedulers = torch.optim.lr_scheduler
    of_torch = {
        "constant": lambda o: schedulers.ConstantLR(o, factor=1),
        "step": lambda o: schedulers.StepLR(o, step_size=30, gamma=0.2),
        "exponential": lambda o: schedulers.ExponentialLR(o, gamma=0.97),
        "polynomial": lambda o: schedulers.PolynomialLR(o, total_iters=80, power=1.5),
        "cosine": lambda o: schedulers.CosineAnnealingLR(o, T_max=99, eta_min=0.01),
        "piecewise": lambda o: schedulers.MultiStepLR(o, milestones=[20, 70], gamma=0.1),
        "warm_up": lambda o: schedulers.LinearLR(o, start_factor=0.125, total_iters=25),
    }
    good = True
    seen = set()
    with open(f"{folder}/schedules.txt") as file:
        for line in file:
            name, *ours = line.split()
            seen.add(name)
            theirs = torch_rates(of_torch[name])
            worst = max(abs(float(a) - b) for a, b in zip(ours, theirs))
            equal = len(ours) == STEPS and worst <= RATES_TOLERANCE
            good = good and equal
            print(f"{name:22} largest difference of a rate {worst:.1e} {'' if equal else '<-- not equal'}")
    return good and seen == set(of_torch)


def main():
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([*sys.argv[sys.argv.index("--") + 1:], folder], check=True)
        optimizers_equal = compare_optimizers(folder)
        schedules_equal = compare_schedules(folder)
    sys.exit(0 if optimizers_equal and schedules_equal else 1)


main()
