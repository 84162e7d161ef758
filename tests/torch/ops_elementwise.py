"""Mirrors of the ops that work element by element."""
import numpy
import philox
import torch


def relu(inputs, attributes):
    return (torch.relu(inputs[0]),)


def add(inputs, attributes):
    return (inputs[0] + inputs[1],)


def sub(inputs, attributes):
    return (inputs[0] - inputs[1],)


def mul(inputs, attributes):
    return (inputs[0] * inputs[1],)


def scale(inputs, attributes):
    return (inputs[0] * float(numpy.float32(attributes["factor"])),)


def square(inputs, attributes):
    return (torch.square(inputs[0]),)


def dropout(inputs, attributes):
    """The mask is the documented one, so that values can be compared: PyTorch's own random numbers are others."""
    x = inputs[0]
    rate = attributes["rate"]
    kept = philox.numbers(attributes["sequence"], x.numel()) >= min(round(rate * 2**32), 2**32 - 1)
    return (x * torch.from_numpy(kept).reshape(x.shape) * float(numpy.float32(1 / (1 - rate))),)
