#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares how Shoal and Python's csv module, in strict mode, read hostile CSV files.

    hostile_csv.py PROGRAM [--files N] [--seed S]        PROGRAM: csv_fields of the build

Shoal accepts a file only if Python does, and its fields are those of Python. It refuses other files, each with one sentence. A file that
Python accepts may be refused for the reasons in REFUSALS alone, and the test looks for the reason in the file as well. A column of
numbers is compared with the exact rounding of the numbers to float32.
"""
import argparse
import collections
import csv
import fractions
import io
import math
import random
import re
import struct
import subprocess
import sys
import time

BATCH = 2000
LINE_BYTES_MAX = 1 << 20
MARK = "\xef\xbb\xbf"
QUOTING, FLOAT = 1, 2
NUMBER = re.compile(r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf|infinity|nan)", re.I)
SENTENCE = re.compile(r"t\.csv(?:, line [0-9]+ \(offset [0-9]+\):)? [^\x00-\x1f\x7f]+")
LONE_CR = re.compile(r"\r(?!\n)")

Case = collections.namedtuple("Case", "text line_bytes_max columns piece separator flags")


def uneven(case, rows):
    return any(len(row) != case.columns for row in rows if row)


# Why Shoal refuses what Python accepts: the words of its sentence, and what the file then has.
REFUSALS = {
    "a quote within a field that does not begin with one, which Python takes for a character":
        (re.compile("a quote stands (within|behind blanks in) field"), lambda case, rows: '"' in case.text),
    "a CR outside of quotes that does not stand before LF, at which Python ends a line":
        (re.compile("a CR (without LF )?stands|lines that end with CR alone"), lambda case, rows: LONE_CR.search(case.text)),
    "a record with another number of fields than there are columns":
        (re.compile("the record has [0-9]+ fields?, expected"), uneven),
    "a record that is longer than line_bytes_max":
        (re.compile("the record is longer than"), lambda case, rows: len(case.text) > case.line_bytes_max),
    "zero bytes in its first 256, by which another encoding or another kind of file is known":
        (re.compile("bytes of 0 in it|is text in UTF-"), lambda case, rows: "\0" in case.text[:259]),
    "a file that begins as JSON does":
        (re.compile("is JSON"), lambda case, rows: case.text.removeprefix(MARK).startswith(('{"', '[{"'))),
}

PIECES = ['"', '""', "\n", "\r\n", "\r", "\0", ",", ";", "\t", "|", " ", "a", "1", "-", MARK, "#", "'", "\\", "\x1a", "\xe9", "{", "[",
          ',"', '",', '"\n', '\n"', "\n\n", '" "']
PLAIN = ["", "a", "bc", "1", "-2.5", "x y", "\xc3\xa9", " lead", "trail ", "#", "NULL", "=1+1", "'q'"]
NASTY = ['"', '""', "5\" nail", "a,b", "a;b", "two\nlines", "two\r\nlines", "cr\rin", "\t", "\0", "\n", '",', MARK + "x", "a\n\n\"b\""]
NUMBERS = ["0", "1", "-1", "+1", "007", "70.0", "1e5", "1E+5", "-1e-5", ".5", "5.", "16777217", "3.4028235e38", "3.5e38", "1e400",
           "-1e400", "1e-45", "1e-46", "1e-59", "9223372036854788153", "inf", "-Infinity", "NaN", "", " 2 ", "\t3"]
NO_NUMBERS = ["1,5", "0x1F", "1_000", "e5", "1e", "+-1", "--1", "1 2", "12%", "nan(1)", "x", "\xc2\xa01", ".", "-"]


def quoted(field, separator, draw):
    needs = any(c in field for c in ('"', "\n", "\r", separator))
    return '"' + field.replace('"', '""') + '"' if needs or draw.random() < 0.15 else field


def table(draw, separator):
    """A table as a writer makes it, of fields that are hard to write; and how many columns it has."""
    columns, nasty = draw.randint(1, 4), draw.random() < 0.5
    fields = PLAIN + NASTY if nasty else PLAIN
    ends = draw.choice((["\n"], ["\r\n"], ["\n", "\r\n"]))
    text = MARK if draw.random() < 0.1 else ""
    for _ in range(draw.randint(0, 5)):
        row = separator.join([quoted(draw.choice(fields), separator, draw) for _ in range(columns)])
        text += row + draw.choice(ends)
    return text[:-1] if draw.random() < 0.2 else text, columns


def damaged(draw, text):
    """The same with a few of its bytes taken away, or others put between them."""
    for _ in range(draw.choice((0, 0, 1, 1, 2, 4))):
        at = draw.randint(0, len(text))
        text = text[:at] + draw.choice(PIECES) + text[at + draw.choice((0, 0, 1, 3)):]
    return text


def huge(draw, text):
    """With a field that no single reading of the file holds."""
    at, size = draw.randint(0, len(text)), draw.choice((65534, 65536, 100_000, 200_000))
    return text[:at] + '"' + draw.choice(("x", '""', "\n", "y,")) * (size // 2) + draw.choice(('"', "")) + text[at:]


def case_of(draw):
    if draw.random() < 0.05:
        pool = NUMBERS + NO_NUMBERS if draw.random() < 0.3 else NUMBERS
        rows = [quoted(draw.choice(pool), ",", draw) or '""' for _ in range(draw.randint(1, 6))]
        if draw.random() < 0.5:
            digits = f"{draw.randint(0, 10**draw.randint(1, 20))}.{draw.randint(0, 10**9)}"
            rows.append(f"{draw.choice(('', '+', '-'))}{digits}e{draw.randint(-60, 45)}")
        return Case("\n".join(rows), LINE_BYTES_MAX, 1, draw.choice((1, 7, 60000)), ",", QUOTING | FLOAT)
    separator = draw.choice(",,,;\t|")
    if draw.random() < 0.3:
        text, columns = "".join(draw.choices(PIECES, k=draw.randint(0, 12))), draw.randint(1, 4)
    else:
        text, columns = table(draw, separator)
        text = damaged(draw, text)
    if draw.random() < 0.0005:
        text = huge(draw, text)
    limit = draw.randint(1, 60) if draw.random() < 0.05 else LINE_BYTES_MAX
    piece = draw.choice((1, 2, 3, 7)) if len(text) < 1000 and draw.random() < 0.3 else 60000
    columns = draw.choice((0, 0, columns, columns, columns, draw.randint(1, 4)))
    return Case(text, limit, columns, piece, separator, QUOTING if draw.random() < 0.85 else 0)


def rows_of(case):
    """The records by Python's csv; None if it refuses the file."""
    quoting = csv.QUOTE_MINIMAL if case.flags & QUOTING else csv.QUOTE_NONE
    text = io.StringIO(case.text.removeprefix(MARK), newline="")
    try:
        return list(csv.reader(text, delimiter=case.separator, quoting=quoting, strict=True))
    except csv.Error:
        return None


def float32_bits(text):
    """The bits of the float32 that is nearest to the number in `text`; None if there is none. NaN is "nan"."""
    text = text.strip(" \t") or "nan"
    if not NUMBER.fullmatch(text):
        return None
    value = float(text)
    if math.isnan(value):
        return "nan"
    if math.isinf(value) or value == 0:
        return struct.pack(">f", value).hex()
    exact = fractions.Fraction(text) if "inf" not in text.lower() else None
    try:
        near = struct.unpack(">I", struct.pack(">f", value))[0]
    except OverflowError:
        return struct.pack(">f", math.copysign(math.inf, value)).hex()
    # float() has rounded once, so that a neighbour may be nearer to what is written.
    sign, magnitude = near & 0x80000000, near & 0x7FFFFFFF

    def distance(bits):
        return abs(fractions.Fraction(struct.unpack(">f", struct.pack(">I", sign | bits))[0]) - exact), bits & 1
    around = [bits for bits in (magnitude - 1, magnitude, magnitude + 1) if 0 <= bits < 0x7F800000]
    return f"{sign | min(around, key=distance):08x}"


def numbers_of(rows):
    found = [float32_bits(row[0]) for row in rows if row]
    return None if None in found else found


def is_nan(bits):
    return (int(bits, 16) & 0x7FFFFFFF) > 0x7F800000


def judge(case, refused, answer, seen):
    """What is wrong with the answer, or None; counts its kind in `seen`."""
    rows = rows_of(case)
    if refused and not SENTENCE.fullmatch(answer):
        return "refused with something that is not one sentence"
    if case.flags & FLOAT:
        expected = numbers_of(rows)
        if refused:
            seen["a column of numbers with a field that is none"] += 1
            return "refused numbers" if expected is not None else None
        found = ["nan" if is_nan(bits) else bits for bits in answer.split("\x1e")[:-1]]
        seen["accepted, numbers"] += 1
        return None if found == expected else f"other numbers than {expected}"
    if not refused:
        if rows is None:
            return "accepted, and Python refuses it"
        kept = [row or [""] for row in rows] if case.columns == 0 else [row for row in rows if row]
        seen["accepted"] += 1
        return None if answer == "".join(["\x1f".join(row) + "\x1e" for row in kept]) else f"other fields than {kept!r:.300}"
    if rows is None:
        seen["refused, as by Python"] += 1
        return None
    for why, (words, holds) in REFUSALS.items():
        if words.search(answer):
            seen[why] += 1
            return None if holds(case, rows) else f"refused, but not for this: {why}"
    return "refused for another reason than those that are known"


def exchange(process, cases):
    """What the program answers to each of the cases."""
    parts = []
    for case in cases:
        text = case.text.encode("latin-1")
        parts.append(struct.pack("<IIHHcB", len(text), case.line_bytes_max, case.columns, case.piece, case.separator.encode(),
                                 case.flags))
        parts.append(text)
    batch = b"".join(parts)
    process.stdin.write(struct.pack("<I", len(batch)) + batch)
    process.stdin.flush()
    for _ in cases:
        refused, size = struct.unpack("<BI", process.stdout.read(5))
        yield bool(refused), process.stdout.read(size).decode("latin-1")


def compare(program, files, seed):
    """How many files there were of each kind. Raises AssertionError at the first that is wrong."""
    csv.field_size_limit(1 << 30)
    draw = random.Random(seed)
    seen = collections.Counter()
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        for first in range(0, files, BATCH):
            cases = [case_of(draw) for _ in range(min(BATCH, files - first))]
            for number, (case, (refused, answer)) in enumerate(zip(cases, exchange(process, cases)), first):
                wrong = judge(case, refused, answer, seen)
                if wrong:
                    process.kill()
                    raise AssertionError(f"file {number} of seed {seed}: {wrong}\n{case!r:.2000}\nShoal: {answer!r:.2000}")
        process.stdin.close()
    missing = [why for why in REFUSALS if not seen[why]]
    if files >= 100_000 and missing:
        raise AssertionError(f"no file was refused for: {missing}")
    return seen


def main():
    parser = argparse.ArgumentParser(description="Reads hostile CSV files, and compares with Python's csv module.")
    parser.add_argument("program")
    parser.add_argument("--files", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    begun = time.monotonic()
    seen = compare(options.program, options.files, options.seed)
    seconds = time.monotonic() - begun
    for why, count in seen.most_common():
        print(f"{count:>9}  {why}")
    print(f"{options.files} files in {seconds:.1f} s, {options.files / seconds:.0f} in a second: nothing wrong")
    return 0


if __name__ == "__main__":
    sys.exit(main())
