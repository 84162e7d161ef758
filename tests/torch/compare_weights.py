# SPDX-License-Identifier: Apache-2.0
"""Models of PyTorch with random weights, and models by the equations that Keras documents: the weights go into a file, a model
of Shoal starts from it, and both predict the same.

    compare_weights.py -- <predict_with_weights, after the emulator that runs it, if one does>

Exit status: 0 equal, 1 not, 77 skipped. Predictions are equal within 1e-5 (relative above 1).
"""
import pathlib
import subprocess
import sys
import tempfile

SKIPPED = 77

try:
    import numpy
    import torch
    from torch import nn
except ImportError as error:
    print(f"skipped: {error} (Debian: python3-torch)")
    sys.exit(SKIPPED)

import keras_equations
import safetensors_file


class Images(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 6, (3, 5), stride=(2, 1), padding=(1, 2))
        self.bn = nn.BatchNorm2d(6)
        self.depthwise = nn.Conv2d(6, 12, 3, groups=6)
        self.gn = nn.GroupNorm(3, 12)
        self.up = nn.ConvTranspose2d(12, 4, 2, stride=2)
        self.fc1 = nn.Linear(4 * 4 * 10, 10)
        self.ln = nn.LayerNorm(10)
        self.fc2 = nn.Linear(10, 4, bias=False)

    def forward(self, x):
        net = self.depthwise(torch.relu(self.bn(self.conv(x))))
        net = torch.relu(self.fc1(torch.flatten(self.up(self.gn(net)), 1)))
        return self.fc2(self.ln(net))


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(11, 5)
        self.first = nn.LSTM(5, 7, batch_first=True)
        self.second = nn.LSTM(7, 4, batch_first=True)

    def forward(self, x):
        return self.second(self.first(self.embedding(x))[0])[0]


class Holder(nn.Module):
    """A layer under a name, as in a model of somebody's own."""

    def __init__(self, name, layer):
        super().__init__()
        self.add_module(name, layer)


class Sequences(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(3, 4, 3)
        self.fc = nn.Linear(4 * 6, 3)

    def forward(self, x):
        return self.fc(torch.flatten(self.conv(x), 1))


def with_random_state(module):
    """Biases, scales and moving statistics start as zeros and ones, which would hide that they are exchanged."""
    for tensor in list(module.parameters()) + [buffer for buffer in module.buffers() if buffer.is_floating_point()]:
        torch.nn.init.uniform_(tensor, 0.1, 0.6) if tensor.dim() == 1 else torch.nn.init.normal_(tensor, 0, 0.4)
    return module.eval()


def of_pytorch():
    """Yields the name of the model, its weights, its inputs and its predictions."""
    def case(name, module, inputs, predict):
        with_random_state(module)
        with torch.no_grad():
            expected = predict(module)
        arrays = {key: value.numpy() for key, value in module.state_dict().items()}
        return name, arrays, {key: value.numpy() for key, value in inputs.items()}, expected.numpy()

    images = torch.randn(5, 3, 7, 7)
    yield case("images", Images(), {"x": images.permute(0, 2, 3, 1).contiguous()}, lambda model: model(images))
    words = torch.randint(0, 11, (4, 6))
    yield case("lstm", Words(), {"x": words}, lambda model: model(words))
    series = torch.randn(3, 8, 5)
    yield case("gru", Holder("gru", nn.GRU(5, 6, batch_first=True)), {"x": series}, lambda model: model.gru(series)[0])
    # The second layer of two alone, so its weights must be those of "_l1".
    stack = Holder("lstm", nn.LSTM(5, 7, num_layers=2, batch_first=True))
    hidden = torch.randn(3, 8, 7)

    def second_layer(model):
        alone = nn.LSTM(7, 7, batch_first=True)
        alone.load_state_dict({key.replace("_l1", "_l0"): value for key, value in model.lstm.state_dict().items() if "_l1" in key})
        return alone(hidden)[0]
    yield case("lstm_of_a_stack", stack, {"x": hidden}, second_layer)
    x, memory = torch.randn(3, 5, 6), torch.randn(3, 4, 6)
    attention = lambda: Holder("attention", nn.MultiheadAttention(6, 2, batch_first=True))
    yield case("attention", attention(), {"x": x}, lambda model: model.attention(x, x, x)[0])
    yield case("cross_attention", attention(), {"x": x, "memory": memory}, lambda model: model.attention(x, memory, memory)[0])
    layer = nn.TransformerEncoderLayer(6, 2, 16, dropout=0.1, activation="gelu", batch_first=True, norm_first=True)
    encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    yield case("transformer", encoder, {"x": x}, lambda model: model(x))
    channels_first = torch.randn(3, 3, 8)
    yield case("sequences", Sequences(), {"x": channels_first.permute(0, 2, 1).contiguous()}, lambda model: model(channels_first))


def main(program):
    torch.manual_seed(3)
    wrong = 0
    cases = list(of_pytorch()) + list(keras_equations.cases(numpy.random.default_rng(3)))
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for number, (name, arrays, inputs, expected) in enumerate(cases):
            paths = {"npz": folder / f"{number}.npz", "safetensors": folder / f"{number}.safetensors"}
            numpy.savez(paths["npz"], **arrays)
            safetensors_file.save(paths["safetensors"], arrays)
            numpy.savez(folder / "input.npz", **inputs)
            for kind, path in paths.items():
                output = folder / f"{number}.{kind}.npy"
                ended = subprocess.run([*program, name, path, folder / "input.npz", output], capture_output=True, text=True, check=False)
                if ended.returncode != 0:
                    sys.exit(f"{name} from {kind}: {ended.stderr}")
                apart = numpy.load(output) - expected if numpy.load(output).shape == expected.shape else numpy.inf
                apart = numpy.max(numpy.abs(apart) / numpy.maximum(1, numpy.abs(expected)))
                print(f"{name} from {kind}: {expected.size} predictions, apart by at most {apart:.1e}")
                wrong += not apart <= 1e-5
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main(sys.argv[sys.argv.index("--") + 1:])
