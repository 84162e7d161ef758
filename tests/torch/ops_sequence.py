# SPDX-License-Identifier: Apache-2.0
"""Mirrors of the recurrences and of attention."""
import math

import torch
from torch.nn import functional


def _named(inputs, attributes):
    return dict(zip(attributes["inputs"].split(" "), inputs))


def _padded(rows, positions):
    """[steps of the row, features] each -> [rows, positions, features], zeros behind."""
    return torch.stack([functional.pad(row, (0, 0, 0, positions - row.shape[0])) for row in rows])


def _recurrence(run, x):
    """run(row, steps) -> outputs, the first [steps, units], the others [units]; over all rows, each of its length."""
    count, positions, _ = x["projection"].shape
    lengths = x["lengths"].tolist() if "lengths" in x else [positions] * count
    rows = [run(row, steps) for row, steps in enumerate(lengths)]
    sequences, *states = zip(*rows)
    return _padded(sequences, positions), *(torch.stack(state) for state in states)


def lstm(inputs, attributes):
    # PyTorch's own LSTM of the projections themselves: its input weights are the identity.
    x = _named(inputs, attributes)
    projection, kernel = x["projection"], x["recurrent_kernel"]
    gates, units = kernel.shape
    state = torch.zeros(projection.shape[0], units)
    hidden, cell = x.get("initial_hidden", state), x.get("initial_cell", state)
    weights = [torch.eye(gates), kernel]

    def run(row, steps):
        if steps == 0:
            return torch.zeros(0, units), hidden[row], cell[row]
        y, h, c = torch.lstm(projection[row, :steps].unsqueeze(0), (hidden[row].view(1, 1, -1), cell[row].view(1, 1, -1)),
                             weights, False, 1, 0.0, False, False, True)
        return y[0], h.view(-1), c.view(-1)

    # The last two outputs are only for lstm_grad.
    return *_recurrence(run, x), None, None


def gru(inputs, attributes):
    x = _named(inputs, attributes)
    projection, kernel = x["projection"], x["recurrent_kernel"]
    gates, units = kernel.shape
    hidden = x.get("initial_hidden", torch.zeros(projection.shape[0], units))
    weights = [torch.eye(gates), kernel, torch.zeros(gates), x.get("recurrent_bias", torch.zeros(gates))]

    def run(row, steps):
        if steps == 0:
            return torch.zeros(0, units), hidden[row]
        y, h = torch.gru(projection[row, :steps].unsqueeze(0), hidden[row].view(1, 1, -1), weights, True, 1, 0.0, False,
                         False, True)
        return y[0], h.view(-1)

    return *_recurrence(run, x), None, None


def _attention(query, key, value, lengths, attributes):
    heads = attributes["heads"]

    def split(operand):
        return operand.unflatten(-1, (heads, -1)).transpose(1, 2)

    query, key, value = split(query), split(key), split(value)
    allowed = torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool)
    if attributes["causal"]:
        allowed = allowed.tril()
    if lengths is not None:
        allowed = allowed & (torch.arange(key.shape[-2]) < lengths.view(-1, 1, 1, 1))
    scores = (query @ key.transpose(-1, -2) * attributes["scale"]).masked_fill(~allowed, -math.inf)
    # Where nothing is allowed softmax would be 0 / 0.
    some = allowed.any(-1, keepdim=True)
    probabilities = torch.softmax(scores.masked_fill(~some, 0), -1) * some
    return (probabilities @ value).transpose(1, 2).flatten(2), probabilities


def attention(inputs, attributes):
    x = _named(inputs, attributes)
    return _attention(x["query"], x["key"], x["value"], x.get("lengths"), attributes)


def self_attention(inputs, attributes):
    x = _named(inputs, attributes)
    return _attention(*x["projections"].chunk(3, -1), x.get("lengths"), attributes)
