# SPDX-License-Identifier: Apache-2.0
"""Mirrors of the ops that move or rename elements."""
import math


def flatten(inputs, attributes):
    x = inputs[0]
    return (x.reshape(x.shape[0], math.prod(x.shape[1:])),)


def reshape(inputs, attributes):
    x = inputs[0]
    return (x.reshape([x.shape[-1 - size] if size < 0 else size for size in attributes["shape"]]),)


def reshape_like(inputs, attributes):
    return (inputs[0].reshape(inputs[1].shape),)


def stop_gradient(inputs, attributes):
    return (inputs[0].detach(),)


def recompute_from(inputs, attributes):
    return (inputs[0],)
