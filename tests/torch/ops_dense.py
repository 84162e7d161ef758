# SPDX-License-Identifier: Apache-2.0
"""Mirrors of the fully connected layer."""
from torch.nn import functional


def dense(inputs, attributes):
    y = functional.linear(*inputs)
    return (functional.relu(y) if attributes["activation"] == "relu" else y,)
