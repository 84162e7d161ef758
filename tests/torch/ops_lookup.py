# SPDX-License-Identifier: Apache-2.0
"""Mirrors of the ops that look elements up."""
import ctypes
import itertools
import math
import struct

import torch


def _xxh3(data):
    """64 bits of XXH3 by Debian's libxxhash."""
    function = ctypes.CDLL("libxxhash.so.0").XXH3_64bits
    function.restype, function.argtypes = ctypes.c_uint64, (ctypes.c_char_p, ctypes.c_size_t)
    return function(data, len(data))


def gather(inputs, attributes):
    x, indices = inputs
    axis = attributes["axis"]
    y = x.index_select(axis, indices.reshape(-1).long())
    return (y.reshape(list(x.shape[:axis]) + list(indices.shape) + list(x.shape[axis + 1:])),)


def gather_grad(inputs, attributes):
    dy, indices, like = inputs
    axis = attributes["axis"]
    rows = dy.reshape(list(like.shape[:axis]) + [-1] + list(like.shape[axis + 1:]))
    return (torch.zeros(like.shape, dtype=dy.dtype).index_add(axis, indices.reshape(-1).long(), rows),)


def multi_hot(inputs, attributes):
    ids = inputs[0].long()
    weights = inputs[1] if len(inputs) > 1 else torch.ones(ids.shape, dtype=torch.get_default_dtype())
    present = (ids >= 0).to(weights.dtype)
    hot = torch.zeros(*ids.shape[:-1], attributes["depth"], dtype=weights.dtype)
    return (hot.scatter_add(-1, ids.clamp(min=0), weights * present),)


def check_range(inputs, attributes):
    return (inputs[0],)


def bag_rows(inputs, attributes):
    ids = inputs[0].long()
    weights = inputs[1] if len(inputs) > 1 else torch.ones(ids.shape, dtype=torch.get_default_dtype())
    combiner = ("sum", "mean", "sqrtn")[attributes["combiner"]]
    there = ids != -1 if combiner == "sum" else (ids != -1) & (weights > 0)
    weights = torch.where(there, weights, torch.zeros_like(weights))
    if combiner != "sum":
        by = weights.sum(-1, keepdim=True) if combiner == "mean" else weights.norm(dim=-1, keepdim=True)
        weights = torch.where(by > 0, weights / by, torch.zeros_like(weights))
    return ids.clamp(min=0) * (ids >= 0) + ids * (ids < -1), weights


def bucketize(inputs, attributes):
    x, boundaries = inputs
    ids = torch.bucketize(x, boundaries, right=True)
    ids = torch.where(x.isnan(), torch.full_like(ids, attributes["missing_id"]), ids)
    spaced = ids + torch.arange(x.shape[-1]) * attributes["spacing"] if x.dim() > 0 else ids
    return (torch.where(ids == -1, ids, spaced),)


def cross_ids(inputs, attributes):
    rows = [x.reshape(math.prod(x.shape[:-1]), x.shape[-1]).tolist() for x in inputs]
    crossed = [[-1 if -1 in combination else
                _xxh3(struct.pack(f"<{len(combination)}q", *combination)) % attributes["buckets"]
                for combination in itertools.product(*lists)] for lists in zip(*rows)]
    combinations = math.prod(x.shape[-1] for x in inputs)
    return (torch.tensor(crossed, dtype=torch.int64).reshape(*inputs[0].shape[:-1], combinations),)


def default_ids(inputs, attributes):
    ids = inputs[0].long()
    inside = (ids >= attributes.get("lowest", -1)) & (ids < attributes["depth"])
    return (torch.where(inside, ids, torch.full_like(ids, attributes["otherwise"])),)


def one_hot(inputs, attributes):
    hot = torch.nn.functional.one_hot(inputs[0].long(), attributes["depth"]).to(torch.get_default_dtype())
    return (hot * attributes["on_value"] + (1 - hot) * attributes["off_value"],)


def top_k(inputs, attributes):
    # Stable, so that of equal elements the first comes first, as with us; torch.topk promises no order of equals.
    values, indices = torch.sort(inputs[0], dim=-1, descending=True, stable=True)
    k = attributes["k"]
    return values[..., :k], indices[..., :k]
