# SPDX-License-Identifier: Apache-2.0
"""Mirrors of sums, means and maxima, and their opposites."""
import torch


def _along_axes(reduce, inputs, attributes):
    axes = attributes.get("axes", list(range(inputs[0].dim())))
    return (reduce(inputs[0], dim=axes, keepdim=attributes.get("keep_dims", False)) if axes else inputs[0],)


def reduce_sum(inputs, attributes):
    return _along_axes(torch.sum, inputs, attributes)


def reduce_mean(inputs, attributes):
    return _along_axes(torch.mean, inputs, attributes)


def reduce_max(inputs, attributes):
    """amax shares the gradient between equal maxima, as Shoal does."""
    return _along_axes(torch.amax, inputs, attributes)


def sum_like(inputs, attributes):
    return (inputs[0].sum_to_size(inputs[1].shape),)


def fill_like(inputs, attributes):
    value, like = inputs
    return (value.expand(like.shape),)


def broadcast_like(inputs, attributes):
    """With "axes" only in gradients."""
    x, like = inputs
    return (x.expand(like.shape),)
