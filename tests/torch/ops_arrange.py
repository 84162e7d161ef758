# SPDX-License-Identifier: Apache-2.0
"""Mirrors of the ops that move elements."""
import torch


def transpose(inputs, attributes):
    return (inputs[0].permute(attributes["permutation"]).contiguous(),)


def concat(inputs, attributes):
    return (torch.cat(inputs, dim=attributes["axis"]),)


def split(inputs, attributes):
    return torch.split(inputs[0], list(attributes["sizes"]), dim=attributes["axis"])


def slice(inputs, attributes):  # noqa: A001
    x = inputs[0]
    for axis, (begin, size, stride) in enumerate(zip(attributes["begin"], attributes["size"], attributes["stride"])):
        count = x.shape[axis] if size == -1 else size
        x = x.index_select(axis, begin + stride * torch.arange(count))
    return (x,)


def pad(inputs, attributes):
    x = inputs[0]
    widths = [w for pair in reversed(list(zip(attributes["before"], attributes["after"]))) for w in pair]
    if x.is_floating_point():
        return (torch.nn.functional.pad(x, widths, value=attributes["value"]),)
    if x.dtype == torch.bool:
        value = attributes["value"] != 0
    else:
        limits = torch.iinfo(x.dtype)
        value = int(min(max(attributes["value"], limits.min), limits.max))
    return (torch.nn.functional.pad(x, widths, value=value),)
