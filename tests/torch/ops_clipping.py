# SPDX-License-Identifier: Apache-2.0
"""Mirrors of clipping and of the norm that gradients are clipped by."""
import torch


def clip(inputs, attributes):
    return (torch.clamp(inputs[0], attributes["low"], attributes["high"]),)


def clip_grad(inputs, attributes):
    """For graphs that have a gradient among their outputs."""
    dy, x = inputs
    return (torch.where((x < attributes["low"]) | (x > attributes["high"]), torch.zeros_like(dy), dy),)


def global_norm(inputs, attributes):
    """In float64, as the definition says."""
    elements = torch.cat([x.reshape(-1) for x in inputs]).double()
    return (torch.linalg.vector_norm(elements).to(inputs[0].dtype),)
