# SPDX-License-Identifier: Apache-2.0
"""Mirrors of normalization. Channels come last in Shoal and second in PyTorch. Those of gradients are for graphs that have a
gradient among their outputs; they are written out, as autograd is compared elsewhere."""
import torch
from torch.nn import functional


def _channels_second(x):
    return x.movedim(-1, 1)


def _channels_last(x):
    return x.movedim(1, -1)


def _moments(x, axes):
    return x.mean(axes), x.var(axes, unbiased=False)


def _all_but_channels(x):
    return tuple(range(x.dim() - 1))


def _finished(y, addend, attributes):
    y = y + addend[0] if addend else y
    return functional.relu(y) if attributes["activation"] == "relu" else y


def batch_norm(inputs, attributes):
    """The variance for the moving average is what PyTorch's running_var would become with a momentum of 1."""
    x, scale, shift, *addend = inputs
    mean, variance = _moments(x, _all_but_channels(x))
    inverse = torch.rsqrt(variance + attributes["epsilon"])
    rows = x.numel() // x.shape[-1]
    if rows == 1:  # refused by PyTorch
        return _finished((x - x) + shift, addend, attributes), mean, variance, inverse
    kept_mean, kept_variance = torch.zeros_like(scale).detach(), torch.ones_like(scale).detach()
    y = functional.batch_norm(_channels_second(x), kept_mean, kept_variance, scale, shift, training=True, momentum=1.0,
                              eps=attributes["epsilon"])
    return _finished(_channels_last(y), addend, attributes), mean, kept_variance, inverse


def relu_grad(inputs, attributes):
    dy, y = inputs
    return (torch.where(y > 0, dy, torch.zeros_like(dy)),)


def batch_norm_grad(inputs, attributes):
    dy, x, scale, mean, inverse = inputs
    normalized = (x - mean) * inverse
    axes = _all_but_channels(x)
    dscale, dshift = (dy * normalized).sum(axes), dy.sum(axes)
    rows = x.numel() // x.shape[-1]
    return scale * inverse * (dy - (dshift + normalized * dscale) / rows), dscale, dshift


def batch_norm_inference(inputs, attributes):
    x, scale, shift, mean, variance = inputs
    y = functional.batch_norm(_channels_second(x), mean.detach(), variance.detach(), scale, shift, eps=attributes["epsilon"])
    return (_finished(_channels_last(y), [], attributes),)


def batch_norm_inference_grad(inputs, attributes):
    dy, x, scale, mean, variance = inputs
    inverse = torch.rsqrt(variance + attributes["epsilon"])
    axes = _all_but_channels(x)
    return dy * scale * inverse, (dy * (x - mean) * inverse).sum(axes), dy.sum(axes)


def layer_norm(inputs, attributes):
    x, scale, shift = inputs
    mean, variance = _moments(x, -1)
    y = functional.layer_norm(x, x.shape[-1:], scale, shift, attributes["epsilon"])
    return y, mean, torch.rsqrt(variance + attributes["epsilon"])


def layer_norm_grad(inputs, attributes):
    dy, x, scale, mean, inverse = inputs
    normalized = (x - mean.unsqueeze(-1)) * inverse.unsqueeze(-1)
    scaled = dy * scale
    dx = scaled - scaled.mean(-1, keepdim=True) - normalized * (scaled * normalized).mean(-1, keepdim=True)
    axes = _all_but_channels(x)
    return dx * inverse.unsqueeze(-1), (dy * normalized).sum(axes), dy.sum(axes)


def _grouped(x, groups):
    """[n, positions, groups, channels of a group]"""
    return x.reshape(x.shape[0], -1, groups, x.shape[-1] // groups)


def group_norm(inputs, attributes):
    x, scale, shift = inputs
    mean, variance = _moments(_grouped(x, attributes["groups"]), (1, 3))
    inverse = torch.rsqrt(variance + attributes["epsilon"])
    if x.numel() == x.shape[0] * attributes["groups"]:  # groups of one element, which PyTorch refuses
        return (x - x) + shift, mean, inverse
    y = functional.group_norm(_channels_second(x), attributes["groups"], scale, shift, attributes["epsilon"])
    return _channels_last(y), mean, inverse


def group_norm_grad(inputs, attributes):
    dy, x, scale, mean, inverse = inputs
    groups = attributes["groups"]
    mean, inverse = mean[:, None, :, None], inverse[:, None, :, None]
    normalized = (_grouped(x, groups) - mean) * inverse
    scaled = _grouped(dy * scale, groups)
    dx = scaled - scaled.mean((1, 3), keepdim=True) - normalized * (scaled * normalized).mean((1, 3), keepdim=True)
    axes = _all_but_channels(x)
    return (dx * inverse).reshape(x.shape), (dy * normalized.reshape(x.shape)).sum(axes), dy.sum(axes)
