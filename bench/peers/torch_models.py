# SPDX-License-Identifier: Apache-2.0
"""The models of bench/models in PyTorch: the same layers, losses, optimizers, shapes of input.

A model is a class with

    inputs(batch)       one generated batch: the arguments of forward()
    forward(*inputs)    the loss
    optimizer(way)      what trains it; way is one of WAYS
    variants            what may be tried beside the settings that all models have: {name: arguments of the constructor}
    images              whether channels_last means something
"""
import math

import torch
from torch import nn
from torch.nn import functional


# How an optimizer goes over its parameters. PyTorch has fused ones for processors since 2.4 or so, and not for all gradients.
WAYS = {"": {"foreach": False}, "foreach": {"foreach": True}, "fused": {"fused": True}}


class Model(nn.Module):
    variants = {"": {}}
    images = False

    def trained(self):
        return [parameter for parameter in self.parameters() if parameter.requires_grad]

    def optimizer(self, way):
        return torch.optim.SGD(self.trained(), lr=0.01, momentum=0.9, **WAYS[way])


class Mlp(Model):
    """784-512-512-10 with relu; SGD with momentum 0.9."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Flatten(), nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(),
                                    nn.Linear(512, 10))

    def inputs(self, batch):
        return torch.rand(batch, 1, 28, 28), torch.randint(10, (batch,))

    def forward(self, images, labels):
        return functional.cross_entropy(self.layers(images), labels)


class Cnn(Mlp):
    """Convolution 5x5x32, pool, convolution 5x5x64, pool, dense 1024, dense 10; SGD with momentum 0.9."""
    images = True

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(1, 32, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
                                    nn.Conv2d(32, 64, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
                                    nn.Flatten(), nn.Linear(3136, 1024), nn.ReLU(), nn.Linear(1024, 10))


class Lenet5(Mlp):
    """Convolution 5x5x6, pool, convolution 5x5x16 without padding, pool, dense 120, 84 and 10; SGD with momentum 0.9."""
    images = True

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
                                    nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                                    nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10))


class ResidualBlock(nn.Module):
    """Two 3x3 convolutions with batch normalization; a 1x1 convolution beside them where the size changes."""

    def __init__(self, channels, filters, stride):
        super().__init__()
        self.first = nn.Conv2d(channels, filters, 3, stride, padding=1, bias=False)
        self.first_norm = nn.BatchNorm2d(filters)
        self.second = nn.Conv2d(filters, filters, 3, padding=1, bias=False)
        self.second_norm = nn.BatchNorm2d(filters)
        self.shortcut = nn.Identity()
        if stride != 1 or channels != filters:
            self.shortcut = nn.Sequential(nn.Conv2d(channels, filters, 1, stride, bias=False), nn.BatchNorm2d(filters))

    def forward(self, x):
        y = functional.relu(self.first_norm(self.first(x)))
        return functional.relu(self.second_norm(self.second(y)) + self.shortcut(x))


class ResNet20(Model):
    """Three stages of three residual blocks, 16, 32 and 64 filters, on 32 x 32 colour images; SGD with momentum 0.9."""
    images = True

    def __init__(self):
        super().__init__()
        layers = [nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU()]
        channels = 16
        for filters in (16, 32, 64):
            for block in range(3):
                layers.append(ResidualBlock(channels, filters, 2 if filters != 16 and block == 0 else 1))
                channels = filters
        self.layers = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))

    def inputs(self, batch):
        return torch.rand(batch, 3, 32, 32), torch.randint(10, (batch,))

    def forward(self, images, labels):
        return functional.cross_entropy(self.layers(images), labels)


class WideAndDeep(Model):
    """26 categories of 10,000 values and 13 numbers. Deep: tables of 16 columns, beside the numbers into 256-128-64-1. Wide:
    one weight per value of a category. Adagrad."""
    CATEGORIES, VALUES, COLUMNS, NUMBERS = 26, 10_000, 16, 13
    # The tables apart, or as one with 260,000 rows; their gradients dense or sparse.
    variants = {f"{tables}_{gradients}": {"together": tables == "one_table", "sparse": gradients == "sparse"}
                for tables in ("one_table", "26_tables") for gradients in ("sparse", "dense")}

    def __init__(self, together, sparse):
        super().__init__()
        count, rows = (1, self.CATEGORIES * self.VALUES) if together else (self.CATEGORIES, self.VALUES)
        self.together = together
        self.deep_tables = nn.ModuleList(nn.Embedding(rows, self.COLUMNS, sparse=sparse) for _ in range(count))
        self.wide_tables = nn.ModuleList(nn.Embedding(rows, 1, sparse=sparse) for _ in range(count))
        sizes = (self.CATEGORIES * self.COLUMNS + self.NUMBERS, 256, 128, 64)
        hidden = [layer for i in range(3) for layer in (nn.Linear(sizes[i], sizes[i + 1]), nn.ReLU())]
        self.deep = nn.Sequential(*hidden, nn.Linear(64, 1))
        self.register_buffer("first_rows", torch.arange(self.CATEGORIES) * self.VALUES)

    def inputs(self, batch):
        values = torch.randint(self.VALUES, (batch, self.CATEGORIES))
        return values, torch.rand(batch, self.NUMBERS), torch.randint(2, (batch,)).float()

    def forward(self, values, numbers, labels):
        if self.together:
            rows = values + self.first_rows
            deep = [table(rows).flatten(1) for table in self.deep_tables]
            wide = [table(rows).flatten(1) for table in self.wide_tables]
        else:
            deep = [table(values[:, i]) for i, table in enumerate(self.deep_tables)]
            wide = [table(values[:, i]) for i, table in enumerate(self.wide_tables)]
        logits = self.deep(torch.cat(deep + [numbers], 1)).squeeze(1) + torch.cat(wide, 1).sum(1)
        return functional.binary_cross_entropy_with_logits(logits, labels)

    def optimizer(self, way):
        return torch.optim.Adagrad(self.trained(), lr=0.01, initial_accumulator_value=0.1, **WAYS[way])


class CharacterModel(Model):
    """Predicts the next of 65 characters at each of 64 places; Adam."""
    VOCABULARY, LENGTH = 65, 64

    def inputs(self, batch):
        text = torch.randint(self.VOCABULARY, (batch, self.LENGTH + 1))
        return text[:, :-1].contiguous(), text[:, 1:].contiguous()

    def loss(self, logits, labels):
        return functional.cross_entropy(logits.reshape(-1, self.VOCABULARY), labels.reshape(-1))

    def optimizer(self, way):
        return torch.optim.Adam(self.trained(), lr=1e-3, **WAYS[way])


class Lstm(CharacterModel):
    """An embedding of 64 columns, an LSTM of 256 units, dense."""
    variants = {"": {"batch_first": True}, "time_first": {"batch_first": False}}

    def __init__(self, batch_first):
        super().__init__()
        self.batch_first = batch_first
        self.embedding = nn.Embedding(self.VOCABULARY, 64)
        self.lstm = nn.LSTM(64, 256, batch_first=batch_first)
        self.lstm.bias_hh_l0.requires_grad_(False).zero_()  # PyTorch's second bias, of no use beside the first
        self.dense = nn.Linear(256, self.VOCABULARY)

    def forward(self, text, labels):
        if not self.batch_first:
            text, labels = text.t(), labels.t()
        return self.loss(self.dense(self.lstm(self.embedding(text))[0]), labels)


class TransformerBlock(nn.Module):
    """Causal attention and a layer of four times the width, each after a normalization and added to its input."""

    def __init__(self, width, heads, length, own_attention):
        super().__init__()
        self.heads = heads
        self.own_attention = own_attention
        self.attention_norm = nn.LayerNorm(width)
        self.query_key_value = nn.Linear(width, 3 * width)
        self.output = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)
        self.wide = nn.Linear(width, 4 * width)
        self.narrow = nn.Linear(4 * width, width)
        self.register_buffer("mask", torch.full((length, length), -math.inf).triu(1))

    def attention(self, x):
        batch, length, width = x.shape
        query, key, value = (part.reshape(batch, length, self.heads, width // self.heads).transpose(1, 2)
                             for part in self.query_key_value(x).chunk(3, 2))
        if self.own_attention:
            mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
            return self.output(mixed.transpose(1, 2).reshape(batch, length, width))
        scores = torch.matmul(query * (width // self.heads) ** -0.5, key.transpose(2, 3)) + self.mask
        mixed = torch.matmul(functional.softmax(scores, 3), value)
        return self.output(mixed.transpose(1, 2).reshape(batch, length, width))

    def forward(self, x):
        x = x + self.attention(self.attention_norm(x))
        return x + self.narrow(functional.gelu(self.wide(self.norm(x))))


class Gpt(CharacterModel):
    """Four transformer blocks of width 128 with four heads over 64 places."""
    # Attention by products and a softmax, or by PyTorch's own function (2.0 and newer).
    variants = {"": {"own_attention": False}}
    if hasattr(functional, "scaled_dot_product_attention"):
        variants["own_attention"] = {"own_attention": True}

    def __init__(self, own_attention=False):
        super().__init__()
        self.embedding = nn.Embedding(self.VOCABULARY, 128)
        self.position = nn.Parameter(torch.randn(self.LENGTH, 128) * 0.02)
        self.blocks = nn.Sequential(*(TransformerBlock(128, 4, self.LENGTH, own_attention) for _ in range(4)))
        self.norm = nn.LayerNorm(128)
        self.dense = nn.Linear(128, self.VOCABULARY, bias=False)

    def forward(self, text, labels):
        return self.loss(self.dense(self.norm(self.blocks(self.embedding(text) + self.position))), labels)


MODELS = {"mlp": Mlp, "cnn": Cnn, "lenet5": Lenet5, "resnet20": ResNet20, "wide_and_deep": WideAndDeep, "lstm": Lstm, "gpt": Gpt}
