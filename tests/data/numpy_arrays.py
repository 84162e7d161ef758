# SPDX-License-Identifier: Apache-2.0
"""Writes NPY and NPZ files by NumPy, or reads them, independent of Shoal.

write FOLDER    writes arrays of every type, order and rank, and prints for each its file, a tab, and its values for Shoal
savez FOLDER    the same in archives: all.npz, packed.npz
read FILE...    prints the values of each file, or of each array of an archive with its name before

Values are printed as "TYPE [SIZE, SIZE] VALUE VALUE ...": floats as the bits of the float32, texts in UTF-8 as hexadecimal.
"""
import io
import sys

import numpy as np

NUMBERS = ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8"]
SHAPES = [(), (1,), (0,), (5,), (2, 3), (3, 0, 2), (4, 1, 3), (2, 3, 2, 2), (60, 70), (7, 5000)]


def shown(array):
    kind = array.dtype.kind
    flat = array.ravel(order="C")
    if kind in "SU":
        texts = flat.tolist()
        values = [(text.encode() if kind == "U" else text).hex() or "-" for text in texts]
        name = "string"
    elif kind == "f":
        with np.errstate(over="ignore"):
            values = flat.astype(np.float32).view(np.uint32).tolist()
        name = "float32"
    elif kind == "b":
        values, name = [int(value) for value in flat], "bool"
    else:
        values = flat.tolist()
        name = {"u1": "uint8", "u4": "int64", "u8": "int64", "i8": "int64"}.get(array.dtype.str[1:], "int32")
    return f"{name} [{', '.join(map(str, array.shape))}] {' '.join(map(str, values))}"


def numbers(dtype, shape, random):
    """Numbers all over the range of a type, its ends among them."""
    kind, count = np.dtype(dtype), int(np.prod(shape, dtype=np.int64))
    if kind.kind == "f":
        bits = random.integers(0, 2 ** (8 * kind.itemsize), count, dtype=np.uint64).astype(f"u{kind.itemsize}")
        values = bits.view(f"f{kind.itemsize}").copy()
        values[np.isnan(values)] = -0.0
        near = np.array([0.1, -0.0, np.inf, -np.inf, 3.4028235677973366e38, 1e-45, 7e-46, 1 + 2.0**-24, 1e300])
        with np.errstate(over="ignore"):
            values[: len(near)] = near[:count].astype(values.dtype)
    else:
        info = np.iinfo(kind)
        top = min(info.max, 2**63 - 1)
        values = random.integers(info.min, top, count, dtype=kind.newbyteorder("="), endpoint=True)
        values[:2] = np.array([info.min, top], dtype=values.dtype)[:count]
    return values.astype(kind).reshape(shape)


def arrays():
    random = np.random.default_rng(5)
    for shape in SHAPES:
        orders = "CF" if len(shape) > 1 else "C"
        for order in orders:
            for number in NUMBERS:
                for endian in "<>":
                    yield f"{endian == '>'}-{number}-{order}-{len(shape)}-{'x'.join(map(str, shape))}", np.array(
                        numbers(endian + number, shape, random), order=order)
            count = int(np.prod(shape, dtype=np.int64))
            yield f"bool-{order}-{shape}", np.array(random.integers(0, 2, count).astype(bool).reshape(shape), order=order)
            words = ["", "a", "tr\u00fc\u00dfe", "\u65e5\u672c", "\U0001f41f x", "a\0b"]
            texts = np.array([words[i] for i in random.integers(0, len(words), count)], dtype="<U8").reshape(shape)
            yield f"text-{order}-{shape}", np.array(texts, order=order)
            yield f"text-big-{order}-{shape}", np.array(texts.astype(">U9"), order=order)
            some = np.array([words[i].encode() for i in random.integers(0, len(words), count)], dtype="S12").reshape(shape)
            yield f"bytes-{order}-{shape}", np.array(some, order=order)


def write(folder):
    for number, (name, array) in enumerate(arrays()):
        path = f"{folder}/{number}.npy"
        with open(path, "wb") as file:
            np.lib.format.write_array(file, array, version=[(1, 0), (2, 0), (3, 0)][number % 3])
        print(path, shown(array), sep="\t")


def savez(folder):
    chosen = {f"{i} {name}": array for i, (name, array) in enumerate(arrays()) if i % 7 == 0}
    chosen["\u00e4 b"] = np.arange(3)
    np.savez(f"{folder}/all.npz", **chosen)
    np.savez_compressed(f"{folder}/packed.npz", **chosen)
    for name, array in chosen.items():
        print(name, shown(array), sep="\t")


def read(paths):
    for path in paths:
        loaded = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            print(shown(loaded))
            continue
        for name in sorted(loaded.files, key=str.encode):
            print(name, shown(loaded[name]), sep="\t")


sys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding="utf-8")
command, *arguments = sys.argv[1:]
if command == "read":
    read(arguments)
else:
    {"write": write, "savez": savez}[command](*arguments)
