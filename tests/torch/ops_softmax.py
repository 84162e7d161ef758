# SPDX-License-Identifier: Apache-2.0
"""Mirrors of softmax, its logarithm and the cross-entropy."""
import torch
from torch.nn import functional


def softmax(inputs, attributes):
    return (functional.softmax(inputs[0], dim=-1),)


def log_softmax(inputs, attributes):
    return (functional.log_softmax(inputs[0], dim=-1),)


def softmax_cross_entropy(inputs, attributes):
    logits, labels = inputs
    loss = functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), labels.reshape(-1), reduction="none",
                                    label_smoothing=attributes.get("label_smoothing", 0.0))
    return loss.reshape(labels.shape), torch.softmax(logits, dim=-1)


def sigmoid_cross_entropy(inputs, attributes):
    logits, labels = inputs
    return (functional.binary_cross_entropy_with_logits(logits, labels, reduction="none"),)
