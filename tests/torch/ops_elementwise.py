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


def div(inputs, attributes):
    return (inputs[0] / inputs[1],)


def pow(inputs, attributes):
    return (torch.pow(inputs[0], inputs[1]),)


def maximum(inputs, attributes):
    return (torch.maximum(inputs[0], inputs[1]),)


def minimum(inputs, attributes):
    return (torch.minimum(inputs[0], inputs[1]),)


def equal(inputs, attributes):
    return (torch.eq(*inputs).to(torch.get_default_dtype()),)


def not_equal(inputs, attributes):
    return (torch.ne(*inputs).to(torch.get_default_dtype()),)


def less(inputs, attributes):
    return (torch.lt(*inputs).to(torch.get_default_dtype()),)


def less_equal(inputs, attributes):
    return (torch.le(*inputs).to(torch.get_default_dtype()),)


def greater(inputs, attributes):
    return (torch.gt(*inputs).to(torch.get_default_dtype()),)


def greater_equal(inputs, attributes):
    return (torch.ge(*inputs).to(torch.get_default_dtype()),)


def select(inputs, attributes):
    return (torch.where(inputs[0] != 0, inputs[1], inputs[2]),)


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
