# SPDX-License-Identifier: Apache-2.0
"""Mirrors of convolution and pooling. Images are [n, H, W, C] in Shoal and [n, C, H, W] in PyTorch; padding, which may be
uneven, is made apart."""
import torch
from torch.nn import functional


def _channels_first(x):
    return x.permute(0, 3, 1, 2)


def _channels_last(x):
    return x.permute(0, 2, 3, 1)


def _padded(x, attributes, value=0.0):
    top, bottom, left, right = attributes["padding"]
    return functional.pad(x, (left, right, top, bottom), value=value)


def conv2d(inputs, attributes):
    x, kernel, *bias = inputs
    y = functional.conv2d(_padded(_channels_first(x), attributes), kernel, *bias, stride=attributes["strides"],
                          dilation=attributes.get("dilations", 1), groups=attributes.get("groups", 1))
    return (_channels_last(functional.relu(y) if attributes["activation"] == "relu" else y),)


def max_pool(inputs, attributes):
    """PyTorch gives the place of the maximum in the (padded) image, Shoal the place in its window."""
    x = _padded(_channels_first(inputs[0]), attributes, -float("inf"))
    (height, width), (down, right) = attributes["window"], attributes["strides"]
    y, place = functional.max_pool2d(x, (height, width), (down, right), return_indices=True)
    row = place // x.shape[3] - torch.arange(y.shape[2]).reshape(-1, 1) * down
    column = place % x.shape[3] - torch.arange(y.shape[3]) * right
    return _channels_last(y), _channels_last((row * width + column).to(torch.uint8))


def max_pool_grad(inputs, attributes):
    """For graphs that have a gradient among their outputs."""
    dy, index, x = inputs
    (_, width), (down, right), (top, bottom, left, _) = (attributes[name] for name in ("window", "strides", "padding"))
    n, _, _, channel = torch.meshgrid(*(torch.arange(size) for size in dy.shape), indexing="ij")
    row = torch.arange(dy.shape[1]).reshape(-1, 1, 1) * down + index.long() // width - top
    column = torch.arange(dy.shape[2]).reshape(-1, 1) * right + index.long() % width - left
    return (torch.zeros(x.shape, dtype=dy.dtype).index_put((n, row, column, channel), dy, accumulate=True),)


def avg_pool(inputs, attributes):
    """Elements outside of the image do not count, however far it was padded."""
    x = _channels_first(inputs[0])

    def mean(image):
        return functional.avg_pool2d(_padded(image, attributes), attributes["window"], attributes["strides"])
    return (_channels_last(mean(x) / mean(torch.ones_like(x))),)
