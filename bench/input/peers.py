#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The peers' side of bench/input/compare: the works of works.h by PyTorch's DataLoader, by pandas and by Python's csv.

    peers.py --folder DIR --make-jpeg COUNT            writes DIR/jpeg: COUNT files of drawn patterns
    peers.py --folder DIR [--batch N] [--workers N] [--variant NAME]

It speaks as input_bench does. --workers is DataLoader's num_workers; its worker processes stay from pass to pass. --variant
chooses how images are decoded (pil or torchvision), how a table is read (pandas or csv), and whether small images are decoded
at a smaller scale (pil_draft). Exit status 77 where a package is missing.
"""
import argparse
import ctypes
import ctypes.util
import csv
import glob
import io
import json
import os
import struct
import sys
import tarfile
import time

PARTS = 4
SIDE, ROW_VALUES, NUMBER_COLUMNS = 28, 64, 20
SMALL = (32, 32)
JPEG_SIZE = (500, 375)  # Width and height.

try:
    import numpy
    import torch
    import torch.utils.data as torch_data
except ImportError as error:
    print(f"peers.py: {error}", file=sys.stderr)
    sys.exit(77)


def parts(folder, name, end):
    return [f"{folder}/{name}-{i}{end}" for i in range(PARTS)]


def part_of_worker(paths):
    """The files that this worker process reads: all of them where there are no workers."""
    worker = torch_data.get_worker_info()
    return paths if worker is None else paths[worker.id::worker.num_workers]


# ---- Checksums of TFRecord -------------------------------------------------------------------------------------

def find_crc32c():
    """(CRC-32C of bytes, where it comes from), by a library in C; (None, "no checksums") where there is none."""
    try:
        import crc32c
        return crc32c.crc32c, "python3-crc32c"
    except ImportError:
        pass
    try:
        library = ctypes.CDLL("libisal.so.2")
    except OSError:
        return None, "no checksums"
    library.crc32_iscsi.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_uint]
    library.crc32_iscsi.restype = ctypes.c_uint
    return lambda data: library.crc32_iscsi(data, len(data), 0xFFFFFFFF) ^ 0xFFFFFFFF, "libisal2"


CRC32C, CRC32C_FROM = find_crc32c()


def check(data, expected):
    if CRC32C is None:
        return
    crc = CRC32C(data)
    if ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF != expected:
        raise ValueError("a record is damaged")


class Records(torch_data.IterableDataset):
    """The records of TFRecord files, as bytes or as what `parse` makes of them."""

    def __init__(self, paths, parse=None):
        self.paths, self.parse = paths, parse

    def __iter__(self):
        head, tail = struct.Struct("<QI"), struct.Struct("<I")
        for path in part_of_worker(self.paths):
            with open(path, "rb") as file:
                while start := file.read(12):
                    length, crc = head.unpack(start)
                    check(start[:8], crc)
                    record = file.read(length)
                    check(record, tail.unpack(file.read(4))[0])
                    yield self.parse(record) if self.parse else record


def example_type():
    """The message tf.Example, made without protoc."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    file = descriptor_pb2.FileDescriptorProto(name="example.proto", package="bench", syntax="proto3")
    field = descriptor_pb2.FieldDescriptorProto

    def add(name, *fields):
        message = file.message_type.add(name=name)
        for number, (field_name, kind, repeated, type_name) in enumerate(fields, 1):
            message.field.add(name=field_name, number=number, type=kind, type_name=type_name,
                              label=field.LABEL_REPEATED if repeated else field.LABEL_OPTIONAL)
        return message

    add("BytesList", ("value", field.TYPE_BYTES, True, None))
    add("FloatList", ("value", field.TYPE_FLOAT, True, None))
    add("Int64List", ("value", field.TYPE_INT64, True, None))
    feature = add("Feature", ("bytes_list", field.TYPE_MESSAGE, False, ".bench.BytesList"),
                  ("float_list", field.TYPE_MESSAGE, False, ".bench.FloatList"),
                  ("int64_list", field.TYPE_MESSAGE, False, ".bench.Int64List"))
    feature.oneof_decl.add(name="kind")
    for one in feature.field:
        one.oneof_index = 0
    features = add("Features", ("feature", field.TYPE_MESSAGE, True, ".bench.Features.FeatureEntry"))
    entry = features.nested_type.add(name="FeatureEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type=field.TYPE_STRING, label=field.LABEL_OPTIONAL)
    entry.field.add(name="value", number=2, type=field.TYPE_MESSAGE, type_name=".bench.Feature", label=field.LABEL_OPTIONAL)
    add("Example", ("features", field.TYPE_MESSAGE, False, ".bench.Features"))
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    descriptor = pool.FindMessageTypeByName("bench.Example")
    if hasattr(message_factory, "GetMessageClass"):
        return message_factory.GetMessageClass(descriptor)
    return message_factory.MessageFactory(pool).GetPrototype(descriptor)


def example_parser():
    kind = example_type()

    def parse(record):
        feature = kind.FromString(record).features.feature
        image = numpy.frombuffer(bytearray(feature["image"].bytes_list.value[0]), numpy.uint8).reshape(SIDE, SIDE)
        row = numpy.array(feature["row"].float_list.value, numpy.float32)
        return {"image": image, "row": row, "label": feature["label"].int64_list.value[0]}

    return parse


# ---- Tar archives ----------------------------------------------------------------------------------------------

class Samples(torch_data.IterableDataset):
    """The files of one key in a row are a sample: {extension: bytes}, with the key as __key__."""

    def __init__(self, paths):
        self.paths = paths

    def __iter__(self):
        for path in part_of_worker(self.paths):
            key, sample = None, {}
            with tarfile.open(path, "r|") as archive:
                for member in archive:
                    if not member.isfile():
                        continue
                    name, extension = os.path.splitext(member.name)
                    if name != key and sample:
                        yield sample
                        sample = {}
                    key = name
                    sample["__key__"] = key
                    sample[extension[1:]] = archive.extractfile(member).read()
                    archive.members = []  # Else the list of members grows from sample to sample.
            if sample:
                yield sample


# ---- Images ----------------------------------------------------------------------------------------------------

class Images(torch_data.Dataset):
    def __init__(self, folder, variant, small):
        self.paths, self.variant, self.small = sorted(glob.glob(folder + "/jpeg/*.jpg")), variant, small

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        path = self.paths[index]
        if self.variant.startswith("torchvision"):
            import torchvision
            image = torchvision.io.decode_jpeg(torchvision.io.read_file(path))
            if self.small:
                image = torchvision.transforms.functional.resize(image, list(SMALL), antialias=True)
            return image
        from PIL import Image
        with Image.open(path) as image:
            if self.small and self.variant == "pil_draft":
                image.draft("RGB", SMALL)
            image = image.convert("RGB")
            if self.small:
                image = image.resize(SMALL, Image.Resampling.BILINEAR)
            return torch.from_numpy(numpy.array(image))


def make_jpeg(folder, count):
    """Gradients, discs and a little noise, so that files are about as large as photographs of these sides."""
    from PIL import Image, ImageDraw
    os.makedirs(folder + "/jpeg", exist_ok=True)
    random = numpy.random.default_rng(1)
    width, height = JPEG_SIZE
    across, down = numpy.meshgrid(numpy.linspace(0, 255, width), numpy.linspace(0, 255, height))
    for number in range(count):
        base = numpy.stack([across, down, (across + down + number) % 256], axis=-1)
        image = Image.fromarray((base * 0.8 + random.normal(20, 8, base.shape)).clip(0, 255).astype(numpy.uint8))
        draw = ImageDraw.Draw(image)
        for _ in range(12):
            x, y, radius = random.integers(0, width), random.integers(0, height), random.integers(5, 80)
            draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=tuple(int(c) for c in random.integers(0, 256, 3)))
        image.save(f"{folder}/jpeg/{number:06}.jpg", quality=90)


# ---- Tables ----------------------------------------------------------------------------------------------------

MIXED = {"id": "int64", "town": str, "age": "int64", "income": "float32", "colour": str, "score": "float32", "visits": "int64",
         "name": str, "weight": "float32", "note": str}


def table_types(name):
    return {f"x{i}": "float32" for i in range(NUMBER_COLUMNS)} if name == "numbers" else MIXED


def pandas_pass(folder, name, sums):
    import pandas
    elements, total = 0, 0.0
    for path in parts(folder, name, ".csv"):
        table = pandas.read_csv(path, engine="c", dtype=table_types(name), keep_default_na=False)
        elements += len(table)
        if sums:
            for column, kind in table_types(name).items():
                total += sum(sum(text.encode()) for text in table[column]) if kind is str else float(table[column].to_numpy().sum(dtype="float64"))
    return elements, total


def csv_pass(folder, name, sums):
    of = [str if kind is str else int if kind == "int64" else float for kind in table_types(name).values()]
    elements, total = 0, 0.0
    for path in parts(folder, name, ".csv"):
        with open(path, newline="", encoding="utf-8") as file:
            rows = csv.reader(file)
            next(rows)
            for row in rows:
                values = [convert(field) for convert, field in zip(of, row)]
                elements += 1
                if sums:
                    total += sum(sum(value.encode()) if isinstance(value, str) else value for value in values)
    return elements, total


# ---- Passes ----------------------------------------------------------------------------------------------------

def arrays(folder, name):
    """What the works from memory are made of, as input_bench makes it."""
    shape = (-1, ROW_VALUES) if name == "rows" else (-1, SIDE, SIDE)
    values = numpy.fromfile(folder + ("/rows.bin" if name == "rows" else "/images.bin"),
                            numpy.float32 if name == "rows" else numpy.uint8).reshape(shape)
    features = torch.from_numpy(values.astype(numpy.float32) if name == "float_images" else values)
    return features, torch.arange(len(features)) % 10


def loader(work, options):
    folder = options.folder
    more = {"batch_size": options.batch, "num_workers": options.workers, "persistent_workers": options.workers > 0}
    if work in ("images", "float_images", "rows"):
        data = torch_data.TensorDataset(*arrays(folder, work))
        return torch_data.DataLoader(data, sampler=torch_data.RandomSampler(data), **more)
    if work in ("small_records", "large_records"):
        return torch_data.DataLoader(Records(parts(folder, work.split("_")[0], ".tfrecord")), **more)
    if work == "examples":
        return torch_data.DataLoader(Records(parts(folder, "example", ".tfrecord"), example_parser()), **more)
    if work == "tar":
        return torch_data.DataLoader(Samples(parts(folder, "samples", ".tar")), **more)
    return torch_data.DataLoader(Images(folder, options.variant, work == "jpeg_small"), **more)


def sum_of(value):
    if isinstance(value, torch.Tensor):
        return float(value.sum(dtype=torch.float64))
    if isinstance(value, str):
        value = value.encode()
    if isinstance(value, bytes):
        return int(numpy.frombuffer(value, numpy.uint8).sum(dtype=numpy.int64))
    return sum(sum_of(one) for one in (value.values() if isinstance(value, dict) else value))


def count_of(batch):
    while isinstance(batch, dict) or (isinstance(batch, (list, tuple)) and isinstance(batch[0], torch.Tensor)):
        batch = next(iter(batch.values())) if isinstance(batch, dict) else batch[0]
    return len(batch)


def one_pass(work, sums, options, loaders):
    if work in ("numbers", "mixed"):
        return (csv_pass if options.variant == "csv" else pandas_pass)(options.folder, work, sums)
    if work not in loaders:
        loaders[work] = loader(work, options)
    elements, total = 0, 0.0
    for batch in loaders[work]:
        elements += count_of(batch)
        if sums:
            total += sum_of(batch)
    return elements, total


def versions():
    found = {"python": sys.version.split()[0], "torch": torch.__version__, "checksums": CRC32C_FROM}
    for name in ("pandas", "PIL", "torchvision", "google.protobuf"):
        try:
            found[name] = __import__(name, fromlist=["__version__"]).__version__
        except ImportError:
            found[name] = None
    if found["google.protobuf"]:
        from google.protobuf.internal import api_implementation
        found["google.protobuf"] += f" ({api_implementation.Type()})"
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", required=True)
    parser.add_argument("--make-jpeg", type=int)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--variant", default="")
    options = parser.parse_args()
    if options.make_jpeg:
        return make_jpeg(options.folder, options.make_jpeg)
    torch.set_num_threads(1)
    print(json.dumps({"name": "peers", "versions": versions()}), flush=True)
    loaders = {}
    for line in sys.stdin:
        command, work = line.split()
        start = time.perf_counter()
        elements, total = one_pass(work, command == "check", options, loaders)
        seconds = time.perf_counter() - start
        print(json.dumps({"elements": elements, "sum": total} if command == "check" else {"elements": elements, "seconds": seconds}),
              flush=True)


if __name__ == "__main__":  # Worker processes import this file.
    main()
