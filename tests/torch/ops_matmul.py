# SPDX-License-Identifier: Apache-2.0
"""Mirrors of the matrix products."""
import torch


def _operands(inputs, attributes):
    a, b = inputs
    a = a.transpose(-1, -2) if attributes["transpose_a"] else a
    return a, b.transpose(-1, -2) if attributes["transpose_b"] else b


def matmul(inputs, attributes):
    return (torch.matmul(*_operands(inputs, attributes)),)


def matmul_sum(inputs, attributes):
    product = torch.matmul(*_operands(inputs, attributes))
    return (product.reshape(-1, *product.shape[-2:]).sum(dim=0),)
