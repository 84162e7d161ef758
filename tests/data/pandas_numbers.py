#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares how Shoal and pandas read columns of numbers.

    pandas_numbers.py PROGRAM [--columns N] [--seed S]        PROGRAM: csv_fields of the build

float32: pandas reads float64 with float_precision="round_trip", which is the float64 that is nearest to what is written, and rounds
that to float32. Shoal rounds once. Where the two differ, the float64 has to be halfway between two neighbours of float32, what is
written not quite, and Shoal's float32 the nearer one, by exact fractions. That is the only difference that is allowed.
int64: the same numbers, and where Shoal refuses a column, since a number of it is none of int64, pandas makes a column of another type.

Exit status 77, with a sentence, where this Python has no pandas.
"""
import argparse
import collections
import fractions
import io
import math
import random
import struct
import subprocess
import sys
import time
import warnings

import hostile_csv

BATCH = 1000
INTEGER = 4
INT64 = range(-2**63, 2**63)
# Without "1e400", which pandas takes for a text, while -1e400 is minus infinity to it.
FIXED = ["0", "-0", "+1", "007", "70.0", ".5", "5.", "1e5", "1E+5", "-1e-5", "16777217", "-16777217", "3.4028235e38", "3.4028236e38", "3.5e38",
         "-1e400", "1e-45", "7e-46", "7.1e-46", "1e-59", "1e-400", "9223372036854788153", "inf", "-inf", "Infinity", "-Infinity",
         "nan", "NaN", '""', "0.1", "1.17549429e-38", "1.1754942e-38", "123456789012345678901234567890", "0." + "0" * 60 + "1"]


def bits_to_float(bits):
    return struct.unpack(">f", struct.pack(">I", bits))[0]


def near_halfway(draw):
    """A number at, or just beside, the middle between two neighbours of float32, written out."""
    bits = draw.randint(0, 0x7F7FFFFE)
    middle = (fractions.Fraction(bits_to_float(bits)) + fractions.Fraction(bits_to_float(bits + 1))) / 2
    step = fractions.Fraction(1, 2 ** draw.randint(30, 90)) * draw.choice((-1, 0, 1))
    exact = middle * (1 + step)
    places = draw.randint(17, 60)
    exponent = 0 if exact == 0 else math.floor(math.log10(exact))
    digits = round(exact / fractions.Fraction(10) ** (exponent - places))
    return f"{draw.choice(('', '-'))}{digits}e{exponent - places}"


def number(draw):
    kind = draw.random()
    if kind < 0.15:
        return draw.choice(FIXED)
    if kind < 0.35:
        return near_halfway(draw)
    if kind < 0.5:
        return repr(bits_to_float(draw.randint(0, 0x7F7FFFFF)))
    if kind < 0.65:
        return f"{draw.uniform(-1e6, 1e6):.{draw.randint(0, 12)}f}"
    digits = f"{draw.randint(0, 10**draw.randint(1, 25))}.{draw.randint(0, 10**draw.randint(1, 25))}"
    return f"{draw.choice(('', '+', '-'))}{digits}e{draw.randint(-65, 45)}"


def whole(draw):
    edge = draw.choice((0, 2**24, 2**31, 2**53, 2**62, 2**63 - 3, -2**63 + 3))
    value = draw.choice((edge + draw.randint(-3, 2), draw.randint(-10**draw.randint(1, 18), 10**draw.randint(1, 18))))
    return draw.choice(("", "", "", "+" if value >= 0 else "", "0" if value >= 0 else "")) + str(value)


def column_of(draw):
    """Its fields, and whether they are to be int64."""
    count = draw.randint(1, 12)
    if draw.random() < 0.7:
        return [number(draw) for _ in range(count)], False
    fields = [whole(draw) for _ in range(count)]
    if draw.random() < 0.1:
        fields[draw.randrange(count)] = str(draw.choice((2**63, -2**63 - 1, 2**64, 10**25)))
    return fields, True


def text_of(fields, draw):
    end = draw.choice(("\n", "\r\n"))
    return end.join(fields) + draw.choice((end, ""))


def is_between(twice, field):
    """Whether the float64 `twice` is halfway between two neighbours of float32, where what is written is not."""
    magnitude = abs(twice)
    if math.isinf(magnitude):
        return False
    try:
        bits = struct.unpack(">I", struct.pack(">f", magnitude))[0]
    except OverflowError:  # It rounds up to infinity.
        bits = 0x7F800000
    below = bits if bits < 0x7F800000 and bits_to_float(bits) <= magnitude else bits - 1
    above = 2.0**128 if below == 0x7F7FFFFF else bits_to_float(below + 1)
    halfway = (bits_to_float(below) + above) / 2 == magnitude  # float64 has the middle of two float32, exactly.
    return halfway and fractions.Fraction(field) != fractions.Fraction(twice)


def judge_floats(fields, answer, float64, numpy, seen):
    """What is wrong with Shoal's column, or None."""
    found = answer.split("\x1e")[:-1]
    if len(found) != len(fields) or len(float64) != len(fields):
        return f"{len(found)} numbers, pandas has {len(float64)}"
    with numpy.errstate(over="ignore", under="ignore"):
        float32 = float64.astype(numpy.float32)
    for field, ours, twice, theirs in zip(fields, found, float64.tolist(), float32):
        if math.isnan(twice):
            if not hostile_csv.is_nan(ours):
                return f"{field}: {ours}, pandas has NaN"
            seen["missing, or NaN"] += 1
            continue
        theirs = struct.pack(">f", theirs).hex()
        expected = hostile_csv.float32_bits(field) if is_between(twice, field) else theirs
        if ours != expected:
            return f"{field}: {ours}, pandas has {theirs}, expected {expected}"
        seen["the same float32" if ours == theirs else "rounded once by Shoal, twice by pandas"] += 1
    return None


def judge_integers(fields, refused, answer, column, seen):
    if refused:
        seen["int64 columns that both refuse"] += 1
        fits = all(int(field) in INT64 for field in fields)
        if fits or str(column.dtype) == "int64":
            return f"refused: {answer}"
        return None
    if str(column.dtype) != "int64":
        return f"accepted, and pandas has {column.dtype}"
    seen["the same int64"] += len(fields)
    return None if [int(text) for text in answer.split("\x1e")[:-1]] == column.tolist() else f"pandas has {column.tolist()}"


def compare(program, columns, seed, pandas, numpy):
    """How many numbers there were of each kind. Raises AssertionError at the first column that is wrong."""
    draw = random.Random(seed)
    seen = collections.Counter()
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        for first in range(0, columns, BATCH):
            drawn = [column_of(draw) for _ in range(min(BATCH, columns - first))]
            cases = [hostile_csv.Case(text_of(fields, draw), hostile_csv.LINE_BYTES_MAX, 1, draw.choice((1, 7, 60000)), ",",
                                      hostile_csv.QUOTING | (INTEGER if integers else hostile_csv.FLOAT))
                     for fields, integers in drawn]
            for at, (case, (fields, integers), (refused, answer)) in enumerate(
                    zip(cases, drawn, hostile_csv.exchange(process, cases)), first):
                table = pandas.read_csv(io.StringIO(case.text), header=None, float_precision="round_trip",
                                        dtype=None if integers else "float64")
                if integers:
                    wrong = judge_integers(fields, refused, answer, table[0], seen)
                else:
                    wrong = f"refused: {answer}" if refused else judge_floats(
                        ["nan" if field == '""' else field for field in fields], answer, table[0].to_numpy(), numpy, seen)
                if wrong:
                    process.kill()
                    raise AssertionError(f"column {at} of seed {seed}: {wrong}\n{case!r:.2000}\nShoal: {answer!r:.2000}")
        process.stdin.close()
    twice = "rounded once by Shoal, twice by pandas"
    if columns >= 2000 and not seen[twice]:
        raise AssertionError(f"no number was {twice}: the test has lost what it looks for")
    return seen


def main():
    parser = argparse.ArgumentParser(description="Reads columns of numbers, and compares with pandas.")
    parser.add_argument("program")
    parser.add_argument("--columns", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    try:
        import numpy
        import pandas
    except ImportError as missing:
        print(f"skipped: this Python ({sys.executable}) has no pandas: {missing}; Debian has it in python3-pandas")
        return 77
    warnings.filterwarnings("ignore", category=RuntimeWarning)
    begun = time.monotonic()
    seen = compare(options.program, options.columns, options.seed, pandas, numpy)
    for what, count in seen.most_common():
        print(f"{count:>9}  {what}")
    print(f"{options.columns} columns in {time.monotonic() - begun:.1f} s, by pandas {pandas.__version__}: nothing wrong")
    return 0


if __name__ == "__main__":
    sys.exit(main())
