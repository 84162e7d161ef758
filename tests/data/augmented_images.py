# SPDX-License-Identifier: Apache-2.0
"""Changes images by Pillow: augmented_images.py FOLDER. Prints one case a line, with the names of two files of pixels:

    what numbers... BEFORE AFTER
"""
import colorsys
import pathlib
import sys

import numpy as np
from PIL import Image, ImageEnhance

folder = pathlib.Path(sys.argv[1])
random = np.random.default_rng(7)
count = 0


def write(image):
    global count
    pixels = np.asarray(image)
    if pixels.ndim == 2:
        pixels = pixels[:, :, None]
    count += 1
    (folder / f"pixels{count}").write_bytes(b"%d %d %d\n" % pixels.shape + pixels.tobytes())
    return f"pixels{count}"


def has_ties(old, new):
    """Whether a new pixel's centre lies between two old ones, where Pillow's sums of rounded steps choose one."""
    return any((2 * i + 1) * old % (2 * new) == 0 for i in range(new))


def picture(height, width, grey):
    y, x = np.mgrid[0:height, 0:width]
    planes = [128 + 100 * np.sin((x + 5 * c) / 6) * np.cos(y / 8) for c in range(3)]
    pixels = np.clip(np.stack(planes, 2) + random.integers(-27, 27, (height, width, 3)), 0, 255).astype(np.uint8)
    return Image.fromarray(pixels[:, :, 0] if grey else pixels)


def turned(image, turns):
    """The hue turned by Python's colorsys, pixel by pixel."""
    pixels = np.asarray(image)
    changed = np.empty_like(pixels)
    for place in np.ndindex(pixels.shape[:2]):
        hue, saturation, value = colorsys.rgb_to_hsv(*(pixels[place] / 255))
        changed[place] = [int(255 * channel + 0.5) for channel in colorsys.hsv_to_rgb((hue + turns) % 1, saturation, value)]
    return changed


for height, width in [(1, 1), (2, 9), (40, 30), (61, 97)]:
    for grey in (False, True):
        image = picture(height, width, grey)
        before = write(image)
        for new in [(1, 1), (3, 3), (20, 15), (61, 97), (100, 20), (128, 128)]:
            print("bilinear", *new, before, write(image.resize(new[::-1], Image.Resampling.BILINEAR)))
            if not has_ties(height, new[0]) and not has_ties(width, new[1]):
                print("nearest", *new, before, write(image.resize(new[::-1], Image.Resampling.NEAREST)))
        for degrees in (0, 10, 45, 90, 91.5, 180, -30, 270, 725):
            after = image.rotate(degrees, Image.Resampling.BILINEAR, fillcolor=90 if grey else (90, 90, 90))
            print("rotate", degrees, 0, before, write(after))
        for factor in (0, 0.3, 0.99, 1, 1.5, 4):
            print("brightness", factor, 0, before, write(ImageEnhance.Brightness(image).enhance(factor)))
            print("contrast", factor, 0, before, write(ImageEnhance.Contrast(image).enhance(factor)))
            print("saturation", factor, 0, before, write(ImageEnhance.Color(image).enhance(factor)))
        for turns in (-0.5, -0.31, 0, 0.001, 1 / 3, 0.5):
            print("hue", turns, 0, before, write(image if grey else turned(image, turns)))
