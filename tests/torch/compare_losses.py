# SPDX-License-Identifier: Apache-2.0
"""The MNIST CNN's first losses, by Shoal and by PyTorch from the same weights on the same batches.

    compare_losses.py <train_cnn_trace> [--steps 100] [--batch 64] [--backend NAME] [--learning-rate 0.01]

SHOAL_DATA names the folder of the gzip'd IDX files, or its parent. Exit status: 0 equal within 1e-3 of each loss, 1 not,
77 skipped.

The learning rate is small on purpose. Pooling and relu have corners, where another rounding can pick another element; a
large learning rate blows such differences up. At 0.05 with batches of 32 both Shoal and PyTorch left a float64 run by about
2% within 100 steps; at 0.01 with batches of 64 they stayed within 1e-4 of each other.
"""
import argparse
import gzip
import os
import subprocess
import sys
import tempfile

SKIPPED = 77
TOLERANCE = 1e-3


def skip(reason):
    print("skipped: " + reason)
    sys.exit(SKIPPED)


try:
    import numpy
    import torch
    from torch.nn import functional
except ImportError as error:
    skip(f"{error} (Debian: python3-torch)")


def idx_folder():
    base = os.environ.get("SHOAL_DATA")
    if not base:
        skip("SHOAL_DATA does not name a folder with MNIST")
    for folder in (base, os.path.join(base, "mnist")):
        if os.path.exists(os.path.join(folder, "train-images-idx3-ubyte.gz")):
            return folder
    skip(f"no train-images-idx3-ubyte.gz in {base} or {base}/mnist")


def read_idx(path, header_bytes):
    with gzip.open(path) as file:
        return numpy.frombuffer(file.read(), numpy.uint8, offset=header_bytes)


def make_batches(steps, batch):
    folder = idx_folder()
    images = read_idx(os.path.join(folder, "train-images-idx3-ubyte.gz"), 16).reshape(-1, 784)
    labels = read_idx(os.path.join(folder, "train-labels-idx1-ubyte.gz"), 8)
    chosen = numpy.random.RandomState(1).permutation(len(images))[:steps * batch].reshape(steps, batch)
    return [((images[rows] / 255.0).astype(numpy.float32), labels[rows].astype(numpy.int64)) for rows in chosen]


def losses_of_shoal(program, options, batches, folder):
    path = os.path.join(folder, "batches.bin")
    with open(path, "wb") as file:
        for images, labels in batches:
            file.write(images.tobytes())
            file.write(labels.tobytes())
    subprocess.run([*program, path, folder, options.backend, str(options.batch), str(options.steps),
                    repr(options.learning_rate)], check=True)
    return numpy.loadtxt(os.path.join(folder, "losses.txt"), ndmin=1)


def starting_weights(folder):
    weights = {}
    with open(os.path.join(folder, "variables.txt")) as file:
        for number, line in enumerate(file):
            name, *dims = line.split()
            values = numpy.fromfile(os.path.join(folder, f"{number}.bin"), numpy.float32)
            weights[name] = torch.tensor(values.reshape([int(dim) for dim in dims]), requires_grad=True)
    return weights


def logits(weights, images):
    x = images.reshape(-1, 1, 28, 28)
    for layer in ("conv2d", "conv2d_1"):
        x = functional.conv2d(x, weights[layer + "/kernel"], weights[layer + "/bias"], padding=2)
        x = functional.max_pool2d(functional.relu(x), 2)
    x = x.permute(0, 2, 3, 1).reshape(len(images), -1)  # Shoal flattens [H, W, C]
    x = functional.relu(functional.linear(x, weights["dense/kernel"], weights["dense/bias"]))
    return functional.linear(x, weights["dense_1/kernel"], weights["dense_1/bias"])


def losses_of_torch(weights, batches, learning_rate):
    optimizer = torch.optim.SGD(weights.values(), lr=learning_rate)
    losses = []
    for images, labels in batches:
        optimizer.zero_grad()
        loss = functional.cross_entropy(logits(weights, torch.tensor(images)), torch.tensor(labels))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return numpy.array(losses)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", nargs="+", help="train_cnn_trace, after the emulator that runs it, if one does")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--backend", default="", help="default: the program's own")
    parser.add_argument("--learning-rate", type=float, default=0.01)
    options = parser.parse_args()

    torch.set_num_threads(1)
    batches = make_batches(options.steps, options.batch)
    with tempfile.TemporaryDirectory() as folder:
        ours = losses_of_shoal(options.program, options, batches, folder)
        theirs = losses_of_torch(starting_weights(folder), batches, options.learning_rate)
    difference = numpy.abs(ours - theirs) / numpy.abs(theirs)
    worst = int(difference.argmax())
    print(f"{len(ours)} losses, from {ours[0]:.4f} to {ours[-1]:.4f}; largest relative difference {difference[worst]:.2e} "
          f"at step {worst} ({ours[worst]:.7g}, torch {torch.__version__}: {theirs[worst]:.7g}); allowed {TOLERANCE}")
    sys.exit(0 if len(ours) == options.steps and difference[worst] <= TOLERANCE else 1)


main()
