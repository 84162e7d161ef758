# SPDX-License-Identifier: Apache-2.0
"""Makes image files and the pixels that other programs read from them: image_files.py FOLDER.

JPEG files are read by Pillow. PNG files are written here, chunk by chunk, in every colour type, bit depth and form of
interlacing that the format has, so that their pixels are known without a reader; Pillow reads those of 8 bits in addition.
Prints one case a line:

    FILE channels at_least_height at_least_width orientation EXPECTED

EXPECTED is a file of the line "height width channels" and the bytes of the pixels.
"""
import io
import pathlib
import struct
import sys
import zlib

import numpy as np
from PIL import Image, ImageOps

folder = pathlib.Path(sys.argv[1])
random = np.random.default_rng(5)


def smooth(height, width, channels):
    """A picture with large areas and noise, so that JPEG has something to approximate."""
    y, x = np.mgrid[0:height, 0:width]
    planes = [128 + 90 * np.sin((x + 3 * c) / (5 + c)) * np.cos(y / (7 - c)) for c in range(channels)]
    noise = random.integers(-20, 20, (height, width, channels))
    return np.clip(np.stack(planes, 2) + noise, 0, 255).astype(np.uint8)


def expect(file, pixels, channels=0, at_least=(0, 0), orientation=0):
    pixels = np.asarray(pixels)
    if pixels.ndim == 2:
        pixels = pixels[:, :, None]
    expect.count += 1
    name = f"expected{expect.count}"
    (folder / name).write_bytes(b"%d %d %d\n" % pixels.shape + pixels.astype(np.uint8).tobytes())
    print(file, channels, *at_least, orientation, name)


expect.count = 0


def with_alpha(pixels):
    return np.concatenate([pixels, np.full(pixels.shape[:2] + (1,), 255)], 2)


def jpegs():
    for height, width in [(1, 1), (7, 5), (8, 8), (16, 16), (33, 47), (64, 100)]:
        for name, options in {"444": dict(subsampling=0), "422": dict(subsampling=1), "420": dict(subsampling=2),
                              "progressive": dict(progressive=True), "best": dict(quality=100, optimize=True)}.items():
            file = f"{height}x{width}_{name}.jpg"
            Image.fromarray(smooth(height, width, 3)).save(folder / file, **options)
            rgb = np.asarray(Image.open(folder / file))
            expect(file, rgb)
            expect(file, rgb, 3)
            expect(file, with_alpha(rgb), 4)
            grey = Image.open(folder / file)
            grey.draft("L", grey.size)
            expect(file, np.asarray(grey), 1)
        file = f"{height}x{width}_grey.jpg"
        Image.fromarray(smooth(height, width, 1)[:, :, 0]).save(folder / file)
        expect(file, np.asarray(Image.open(folder / file)))
        expect(file, np.asarray(Image.open(folder / file).convert("RGB")), 3)
        file = f"{height}x{width}_cmyk.jpg"
        Image.fromarray(smooth(height, width, 4), "CMYK").save(folder / file)
        rgb = Image.open(folder / file).convert("RGB")
        expect(file, np.asarray(rgb))
        expect(file, np.asarray(rgb.convert("L")), 1)
        expect(file, with_alpha(np.asarray(rgb)), 4)
    # Pillow's draft mode knows the scales 1, 1/2, 1/4 and 1/8.
    Image.fromarray(smooth(160, 240, 3)).save(folder / "large.jpg")
    for at_least in [(160, 240), (80, 120), (40, 60), (20, 30), (40, 1), (1, 1), (500, 500)]:
        image = Image.open(folder / "large.jpg")
        if at_least[0] <= 160:
            image.draft("RGB", (at_least[1], at_least[0]))
        expect("large.jpg", np.asarray(image), 3, at_least)
    for orientation in range(0, 10):
        exif = Image.Exif()
        exif[0x0112] = orientation
        for ending in ("jpg", "png"):
            file = f"orientation{orientation}.{ending}"
            Image.fromarray(smooth(20, 32, 3)).save(folder / file, exif=exif.tobytes())
            expect(file, np.asarray(Image.open(folder / file)))
            image = Image.open(folder / file)
            if 1 <= orientation <= 8:
                image = ImageOps.exif_transpose(image)
            expect(file, np.asarray(image), orientation=1)


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def packed(samples, depth):
    """Rows of samples [height, width * samples] as bytes, each row behind the filter type 0."""
    rows = b""
    for row in samples:
        if depth == 16:
            data = row.astype(">u2").tobytes()
        elif depth == 8:
            data = row.astype(np.uint8).tobytes()
        else:
            bits = np.unpackbits(row.astype(np.uint8)[:, None], axis=1)[:, 8 - depth:]
            data = np.packbits(bits.reshape(-1)).tobytes()
        rows += b"\0" + data
    return rows


ADAM7 = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)]


def png(samples, depth, colour, interlaced, palette=None, transparent=None):
    height, width, channels = samples.shape
    if interlaced:
        passes = [samples[y::dy, x::dx] for y, x, dy, dx in ADAM7]
        data = b"".join(packed(one.reshape(one.shape[0], -1), depth) for one in passes if one.size)
    else:
        data = packed(samples.reshape(height, -1), depth)
    file = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlaced))
    if palette is not None:
        file += chunk(b"PLTE", palette.astype(np.uint8).tobytes())
    if transparent is not None:
        file += chunk(b"tRNS", transparent)
    return file + chunk(b"tEXt", b"Comment\0none") + chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND", b"")


def to_8_bits(samples, depth):
    """Rounded to the nearest of 256 levels."""
    most = 2 ** depth - 1
    return (samples.astype(np.int64) * 255 * 2 + most) // (2 * most)


def luma(rgb):
    r, g, b = (rgb[:, :, i].astype(np.int64) for i in range(3))
    return (19595 * r + 38470 * g + 7471 * b + 0x8000) >> 16


def expect_all(file, pixels, opaque):
    """`pixels`: with alpha if the file has any. `opaque`: without."""
    grey = opaque.shape[2] == 1
    rgb = np.repeat(opaque, 3, 2) if grey else opaque
    alpha = pixels[:, :, -1:] if pixels.shape[2] in (2, 4) else np.full(rgb.shape[:2] + (1,), 255)
    expect(file, pixels)
    expect(file, opaque if grey else luma(opaque), 1)
    expect(file, rgb, 3)
    expect(file, np.concatenate([rgb, alpha], 2), 4)


def pngs():
    kinds = [(0, 1, (1, 2, 4, 8, 16)), (2, 3, (8, 16)), (3, 1, (1, 2, 4, 8)), (4, 2, (8, 16)), (6, 4, (8, 16))]
    for colour, channels, depths in kinds:
        for depth in depths:
            for interlaced in (0, 1):
                for height, width in [(1, 1), (5, 3), (9, 17)]:
                    for transparent in ((False, True) if colour in (0, 2, 3) else (False,)):
                        samples = random.integers(0, 2 ** depth, (height, width, channels))
                        file = f"png{colour}_{depth}_{interlaced}_{height}x{width}{'_tRNS' if transparent else ''}.png"
                        one_png(file, samples, depth, colour, interlaced, transparent)


def one_png(file, samples, depth, colour, interlaced, transparent):
    height, width, channels = samples.shape
    if colour == 3:
        palette = random.integers(0, 256, (2 ** depth, 3))
        alpha = random.integers(0, 256, (2 ** depth // 2,)).astype(np.uint8)
        (folder / file).write_bytes(png(samples, depth, 3, interlaced, palette, alpha.tobytes() if transparent else None))
        opaque = palette[samples[:, :, 0]]
        alphas = np.concatenate([alpha, np.full(2 ** depth - len(alpha), 255)])[samples]
        expect_all(file, np.concatenate([opaque, alphas], 2) if transparent else opaque, opaque)
    else:
        key = samples[0, 0]
        chunk_data = b"".join(struct.pack(">H", int(one)) for one in key) if transparent else None
        (folder / file).write_bytes(png(samples, depth, colour, interlaced, None, chunk_data))
        pixels = to_8_bits(samples, depth)
        if transparent:
            alphas = np.where((samples == key).all(2, keepdims=True), 0, 255)
            expect_all(file, np.concatenate([pixels, alphas], 2), pixels)
        else:
            expect_all(file, pixels, pixels[:, :, :1] if colour == 4 else pixels[:, :, :3])
    if depth == 8 and colour != 3 and not transparent:
        assert (np.asarray(Image.open(io.BytesIO((folder / file).read_bytes()))).reshape(samples.shape) == samples).all()


jpegs()
pngs()
