"""Mirrors of the ops that look elements up."""
import torch


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


def one_hot(inputs, attributes):
    hot = torch.nn.functional.one_hot(inputs[0].long(), attributes["depth"]).to(torch.get_default_dtype())
    return (hot * attributes["on_value"] + (1 - hot) * attributes["off_value"],)


def top_k(inputs, attributes):
    # Stable, so that of equal elements the first comes first, as with us; torch.topk promises no order of equals.
    values, indices = torch.sort(inputs[0], dim=-1, descending=True, stable=True)
    k = attributes["k"]
    return values[..., :k], indices[..., :k]
