# SPDX-License-Identifier: Apache-2.0
"""Mirrors of the ops that give or take integers."""
import torch

_DTYPES = {"int32": torch.int32, "int64": torch.int64, "uint8": torch.uint8}


def argmax(inputs, attributes):
    # By a stable sort: torch.argmax may return any of equal elements.
    axis = attributes.get("axis", -1)
    return (torch.sort(inputs[0], dim=axis, descending=True, stable=True).indices.select(axis, 0),)


def cast(inputs, attributes):
    x, dtype = inputs[0], attributes["dtype"]
    if dtype == "float32":
        return (x.to(torch.get_default_dtype()),)
    if dtype == "bool":
        return (x != 0,)
    limits = torch.iinfo(_DTYPES[dtype])
    x = torch.trunc(torch.nan_to_num(x, nan=0.0)) if x.is_floating_point() else x.long()
    return (torch.clamp(x, limits.min, limits.max).to(_DTYPES[dtype]),)
