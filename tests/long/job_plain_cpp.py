#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The models of the example programs as plain C++: each is trained, exported and compiled by g++ and clang for this machine and by
g++ for arm64 and riscv64 (run by qemu-user), without a warning, and needs libc and libm alone. All give the bits of the backend portable. In eight
bits, MNIST loses at most 0.5 points of accuracy, and pictures of CIFAR's shape at most 1."""
import csv
import gzip
import io
import json
import os
import pathlib
import platform
import random
import re
import shutil
import struct
import subprocess
import tempfile
import time
import zipfile

import outcome
from job import program

SECONDS_MAX = 1500
EXAMPLES = 20  # whose bits are compared
TYPES = {"float": "f", "std::int64_t": "q", "std::int32_t": "i", "std::uint8_t": "B", "bool": "?"}
DEBIAN_PYTHON = "/usr/bin/python3"


def run(command, folder, said=None):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SHOAL_")}
    ended = subprocess.run([str(word) for word in command], env=kept, cwd=folder, input=said, capture_output=True, timeout=SECONDS_MAX, check=False)
    if ended.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}: status {ended.returncode}:\n{ended.stderr.decode()[-3000:]}")
    return ended.stdout


class Source:
    """A model as C++: its first function."""

    def __init__(self, export, folder, *options):
        self.folder = folder
        self.said = json.loads(run([*program("shoal"), "export", "c++", export, "-o", folder, *options], folder.parent))
        header = (folder / "model.h").read_text()
        function = re.search(r"/// Inputs:\n(.*?)/// Outputs:\n(.*?)\nbool (predict)\(", header, re.S)
        self.inputs, self.outputs = (re.findall(r"///   (\w+)  ([\w:]+)\[(\d+)\]", function.group(i)) for i in (1, 2))
        (folder / "main.cc").write_text(self.driver())

    def driver(self):
        """Reads examples, and writes what the function gives for each."""
        arrays = "".join(f"  static {kind} {prefix}{name}[{count}];\n"
                         for prefix, ports in (("in_", self.inputs), ("out_", self.outputs)) for name, kind, count in ports)
        reads = " && ".join(f"std::fread(in_{name}, sizeof in_{name}, 1, stdin) == 1" for name, _, _ in self.inputs)
        words = ", ".join([f"in_{name}" for name, _, _ in self.inputs] + [f"out_{name}" for name, _, _ in self.outputs])
        writes = "".join(f"    std::fwrite(out_{name}, sizeof out_{name}, 1, stdout);\n" for name, _, _ in self.outputs)
        return (f'#include <cstdio>\n#include "model.h"\nint main() {{\n{arrays}  while ({reads}) {{\n'
                f"    if (!model::predict({words})) return 3;\n{writes}  }}\n}}\n")

    def compiled(self, compiler, *options):
        name = compiler.replace("+", "p")
        run([compiler, "-std=c++17", "-O2", "-Wall", "-Wextra", "-Werror", *options, "-c", "model.cc", "-o", f"{name}.o"], self.folder)
        run([compiler, "-std=c++17", "-O2", *options, f"{name}.o", "main.cc", "-o", name], self.folder)
        return self.folder / name

    def unpacked(self, outputs):
        """Each output of each example: a list of numbers."""
        form = "<" + "".join(f"{count}{TYPES[kind]}" for _, kind, count in self.outputs)
        examples = []
        for numbers in struct.iter_unpack(form, outputs):
            one, at = {}, 0
            for name, _, count in self.outputs:
                one[name], at = numbers[at:at + int(count)], at + int(count)
            examples.append(one)
        return examples


def compilers():
    """Name, options, and what runs the program."""
    here = platform.machine()
    native = ["-mfma"] if here == "x86_64" else []
    found = [("g++", native, [])]
    if shutil.which("clang++"):
        found.append(("clang++", native, []))
    for machine in ("aarch64", "riscv64"):
        if here != machine and shutil.which(f"{machine}-linux-gnu-g++") and shutil.which(f"qemu-{machine}-static"):
            found.append((f"{machine}-linux-gnu-g++", ["-static"], [f"qemu-{machine}-static"]))
    return found


def expected(export, folder, rows, names):
    """What the backend portable predicts, one example at a time: numbers of each output, by its name."""
    table = io.StringIO()
    writer = csv.writer(table)
    writer.writerow(names)
    writer.writerows(rows)
    said = run([*program("shoal"), "predict", export, "-", "--signature", "serving_default", "--backend", "portable", "--threads", "1", "--batch", "1"],
               folder, table.getvalue().encode())
    examples = []
    for row in csv.DictReader(io.StringIO(said.decode())):
        one = {}
        for column, text in row.items():
            one.setdefault(column.split("/")[0], []).append(text)
        examples.append(one)
    return examples


def as_float32(text):
    return struct.pack("<f", float(text))


def same_bits(source, found, wanted, what):
    for example, (one, other) in enumerate(zip(found, wanted, strict=True)):
        for name, kind, _ in source.outputs:
            if kind != "float":
                continue
            bits = [struct.pack("<f", number) for number in one[name]]
            if bits != [as_float32(text) for text in other[name]]:
                raise AssertionError(f"{what}: example {example}, output {name}: {one[name][:4]} and not {other[name][:4]}")


def newest(model):
    return max(path for path in (model / "export/best").iterdir() if path.name.isdigit())


def train(name, folder, *flags):
    model = folder / "m"
    run([*program(name), "--quiet", "--seed", "3", "--throttle-secs", "0", "--model-dir", model, *flags], folder)
    return newest(model)


def compare_compilers(name, source, inputs, wanted):
    """All compilers' programs give the same bits, and those of the backend. Returns the program of g++."""
    needed = set()
    for compiler, options, runner in compilers():
        built = source.compiled(compiler, *options)
        outputs = run([*runner, built], source.folder, inputs)
        same_bits(source, source.unpacked(outputs), wanted, f"{name} by {compiler}")
        if not runner:
            object_file = str(built) + ".o"
            needed |= set(re.findall(r" U (\S+)", run(["nm", "-u", object_file], source.folder).decode()))
    foreign = {symbol for symbol in needed if symbol.startswith("_Z") or symbol in ("malloc", "free", "__cxa_throw")}
    if foreign:
        raise AssertionError(f"{name}: the source needs {foreign}")
    return source.folder / "gpp"


def idx(path):
    contents = gzip.decompress(path.read_bytes())
    sizes = struct.unpack(f">{contents[3]}I", contents[4:4 + 4 * contents[3]])
    return sizes, contents[4 + 4 * contents[3]:]


def pictures_of_mnist(data):
    folder = pathlib.Path(data, "mnist")
    (count, high, wide), pixels = idx(folder / "t10k-images-idx3-ubyte.gz")
    _, labels = idx(folder / "t10k-labels-idx1-ubyte.gz")
    size = high * wide
    return [pixels[i * size:(i + 1) * size] for i in range(count)], list(labels)


def pictures_in(folder):
    """The pixels of PNG files in folders by class, and their classes, by Pillow."""
    script = ("import pathlib, sys\nfrom PIL import Image\n"
              "for n, kind in enumerate(sorted(p for p in pathlib.Path(sys.argv[1]).iterdir() if p.is_dir())):\n"
              "    for file in sorted(kind.iterdir())[:200]:\n"
              "        sys.stdout.buffer.write(bytes([n]) + Image.open(file).convert('RGB').tobytes())\n")
    said = run([DEBIAN_PYTHON, "-c", script, folder], folder)
    size = 1 + 32 * 32 * 3
    rows = [said[i:i + size] for i in range(0, len(said), size)]
    return [row[1:] for row in rows], [row[0] for row in rows]


def npz(path, pictures, shape):
    """An array of bytes, as NumPy writes it."""
    header = str({"descr": "|u1", "fortran_order": False, "shape": (len(pictures), *shape)}).encode()
    header += b" " * ((64 - (11 + len(header)) % 64) % 64) + b"\n"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.npy", b"\x93NUMPY\x01\0" + struct.pack("<H", len(header)) + header + b"".join(pictures))


def accuracy(source, built, pictures, labels):
    examples = source.unpacked(run([built], source.folder, b"".join(pictures)))
    right = sum(max(range(10), key=one["scores"].__getitem__) == label for one, label in zip(examples, labels, strict=True))
    return right / len(labels)


def pictures_job(name, folder, shape, flags, pictures, labels, lost_most):
    """Float bits by all compilers, and what eight bits cost."""
    export = train(name, folder, *flags)
    (folder / "cpp").mkdir()
    source = Source(export, folder / "cpp")
    few = pictures[:EXAMPLES]
    wanted = expected(export, folder, [list(picture) for picture in few], [f"c{i}" for i in range(len(few[0]))])
    built = compare_compilers(name, source, b"".join(few), wanted)
    npz(folder / "few.npz", pictures[len(pictures) // 2:][:128], shape)
    (folder / "int8").mkdir()
    eight = Source(export, folder / "int8", "--int8", folder / "few.npz")
    eight_built = eight.compiled("g++", *compilers()[0][1])
    begun = time.monotonic()
    in_float = accuracy(source, built, pictures, labels)
    middle = time.monotonic()
    in_eight = accuracy(eight, eight_built, pictures, labels)
    ended = time.monotonic()
    if in_float - in_eight > lost_most:
        raise AssertionError(f"{name}: {in_float:.2%} are right in float, and {in_eight:.2%} in eight bits")
    milliseconds = [1000 * seconds / len(labels) for seconds in (middle - begun, ended - middle)]
    return (f"{name} {in_float:.2%}, in eight bits {in_eight:.2%}; weights {source.said['bytes']['weights']} and {eight.said['bytes']['weights']} bytes, "
            f"{milliseconds[0]:.2f} and {milliseconds[1]:.2f} ms an example")


def text_job(folder, model):
    export = train("text", folder, "--model", model, "--steps", "6", "--batch", "8")
    (folder / "cpp").mkdir()
    source = Source(export, folder / "cpp")
    count = int(source.inputs[0][2])
    chosen = random.Random(4)
    rows = [[chosen.randrange(40) for _ in range(count)] for _ in range(EXAMPLES)]
    wanted = expected(export, folder, rows, [f"c{i}" for i in range(count)])
    compare_compilers(f"text {model}", source, b"".join(struct.pack(f"<{count}q", *row) for row in rows), wanted)


def housing_job(folder, data):
    export = train("housing", folder, "--steps", "50", "--data-dir", data)
    (folder / "cpp").mkdir()
    source = Source(export, folder / "cpp")
    chosen = random.Random(5)
    names = [name for name, _, _ in source.inputs]
    # A text that is missing has the id -1.
    rows = [[-1 if kind != "float" else struct.unpack("<f", struct.pack("<f", chosen.uniform(0, 50)))[0] for _, kind, _ in source.inputs]
            for _ in range(EXAMPLES)]
    wanted = expected(export, folder, [["" if cell == -1 else cell for cell in row] for row in rows], names)
    form = "<" + "".join(TYPES[kind] for _, kind, _ in source.inputs)
    compare_compilers("housing", source, b"".join(struct.pack(form, *row) for row in rows), wanted)


def adult_job(folder, data):
    """Text goes in as ids; here compilers alone are compared, and tests/convert_cpp compares the ids."""
    export = train("adult", folder, "--steps", "50", "--data-dir", data)
    (folder / "cpp").mkdir()
    source = Source(export, folder / "cpp")
    chosen = random.Random(6)
    inputs = b"".join(struct.pack(f"<{len(source.inputs)}q", *[chosen.randrange(2) for _ in source.inputs]) for _ in range(EXAMPLES))
    outputs = {run([*runner, source.compiled(compiler, *options)], source.folder, inputs) for compiler, options, runner in compilers()}
    if len(outputs) != 1 or not outputs.pop():
        raise AssertionError("adult: compilers give different bits")


def body():
    data = os.environ.get("SHOAL_DATA", "")
    if not os.path.isdir(data):
        raise outcome.Skip("SHOAL_DATA does not name a folder with MNIST")
    outcome.needs({"g++": "g++", "nm": "binutils"})
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for part in ("mnist", "mlp", "cifar", "lstm", "gpt", "housing", "adult"):
            (folder / part).mkdir()
        digits, labels = pictures_of_mnist(data)
        said = [pictures_job("mnist", folder / "mnist", (28, 28, 1), ["--model", "lenet5", "--steps", "1500", "--data-dir", data], digits, labels, 0.005),
                pictures_job("mnist", folder / "mlp", (28, 28, 1), ["--model", "mlp", "--steps", "1500", "--data-dir", data], digits, labels, 0.005)]
        run([*program("cifar"), "--seed", "1", "--write-pictures", folder / "pictures"], folder)
        drawn, kinds = pictures_in(next((folder / "pictures").glob("*test*")))
        said.append(pictures_job("cifar", folder / "cifar", (32, 32, 3), ["--steps", "300", "--batch", "32", "--learning-rate", "0.05"], drawn, kinds, 0.01))
        for model in ("lstm", "gpt"):
            text_job(folder / model, model)
        housing_job(folder / "housing", data)
        adult_job(folder / "adult", data)
    by = ", ".join(compiler for compiler, _, _ in compilers())
    return {"seconds": round(time.monotonic() - begun), "how": f"bits of portable by {by} for mnist (two networks), cifar, text (two networks), housing; "
            f"equal bits for adult; {'; '.join(said)}"}


if __name__ == "__main__":
    outcome.end_with(body)
