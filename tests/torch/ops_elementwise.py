# SPDX-License-Identifier: Apache-2.0
"""Mirrors of the ops that work element by element."""
import numpy
import philox
import torch
from torch.nn import functional


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


def exp(inputs, attributes):
    return (torch.exp(inputs[0]),)


def log(inputs, attributes):
    return (torch.log(inputs[0]),)


def sqrt(inputs, attributes):
    return (torch.sqrt(inputs[0]),)


def rsqrt(inputs, attributes):
    return (torch.rsqrt(inputs[0]),)


def reciprocal(inputs, attributes):
    return (torch.reciprocal(inputs[0]),)


def abs(inputs, attributes):
    return (torch.abs(inputs[0]),)


def erf(inputs, attributes):
    return (torch.erf(inputs[0]),)


def sin(inputs, attributes):
    return (torch.sin(inputs[0]),)


def cos(inputs, attributes):
    return (torch.cos(inputs[0]),)


def sigmoid(inputs, attributes):
    return (torch.sigmoid(inputs[0]),)


def tanh(inputs, attributes):
    return (torch.tanh(inputs[0]),)


def softplus(inputs, attributes):
    """PyTorch's is x itself from 20 on, unless told otherwise."""
    return (functional.softplus(inputs[0], threshold=200),)


def leaky_relu(inputs, attributes):
    return (functional.leaky_relu(inputs[0], attributes["alpha"]),)


def elu(inputs, attributes):
    return (functional.elu(inputs[0], attributes["alpha"]),)


def gelu(inputs, attributes):
    return (functional.gelu(inputs[0]),)


def gelu_tanh(inputs, attributes):
    return (functional.gelu(inputs[0], approximate="tanh"),)


def silu(inputs, attributes):
    return (functional.silu(inputs[0]),)


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
