# SPDX-License-Identifier: Apache-2.0
"""Writes lines of JSON, independent of Shoal, and prints what is to be read from them: json_objects.py FILE COUNT

The fields are: text (string), real (float32), big (int64), small (int32), flag (bool), pair (int32 [2]), grid (float32 [2, 2]),
words (strings of variable length), user.id (int64, missing is -1), user.tags (strings of variable length, missing is none). A line
of the output has the fields in the order of their names, in the notation of numpy_arrays.py, with a tab between them.
"""
import json
import random
import struct
import sys


def float_bits(number):
    """The float32 that is nearest to a double, by the C library of Python."""
    try:
        return struct.unpack("<I", struct.pack("<f", number))[0]
    except OverflowError:
        return 0x7F800000 if number > 0 else 0xFF800000


def text(random):
    letters = 'ab"\\/\b\n\t\u00e4\u65e5\U0001f41f\x7f\x01 '
    return "".join(random.choice(letters) for _ in range(random.randrange(6)))


def real(random):
    some = [0, 1, -7, 0.1, -0.0, 1e-46, 3.5e38, -1e300, 2**60]
    return random.choice(some + [random.uniform(-1e3, 1e3), random.uniform(-1, 1) * 10 ** random.randrange(-44, 38)])


def junk(random, depth=0):
    if depth > 4 or random.random() < 0.5:
        return random.choice([None, True, 1, -2.5, "x", [], {}])
    if random.random() < 0.5:
        return [junk(random, depth + 1) for _ in range(random.randrange(4))]
    return {str(i): junk(random, depth + 1) for i in range(random.randrange(4))}


def shown(dtype, shape, values):
    return f"{dtype} [{', '.join(map(str, shape))}] {' '.join(map(str, values))}"


def texts(values):
    return [value.encode().hex() or "-" for value in values]


path, count = sys.argv[1], int(sys.argv[2])
generator = random.Random(3)
with open(path, "w", encoding="utf-8") as file:
    for _ in range(count):
        one = {
            "text": text(generator),
            "real": real(generator),
            "big": generator.choice([0, -(2**63), 2**63 - 1, generator.randrange(-(2**63), 2**63)]),
            "small": generator.choice([0, -(2**31), 2**31 - 1, generator.randrange(-(2**31), 2**31)]),
            "flag": generator.random() < 0.5,
            "pair": [generator.randrange(9), generator.randrange(9)],
            "grid": [[real(generator), real(generator)], [real(generator), real(generator)]],
            "words": [text(generator) for _ in range(generator.randrange(4))],
            "other": junk(generator),
        }
        user = {"more": junk(generator)}
        if generator.random() < 0.7:
            user["id"] = generator.choice([None, 5, 7])
        if generator.random() < 0.7:
            user["tags"] = generator.choice([None, [], ["a", "b"]])
        if generator.random() < 0.8:
            one["user"] = generator.choice([None, user, user])
        found = one.get("user") or {}
        identity = -1 if found.get("id") is None else found["id"]
        tags = found.get("tags") or []
        names = list(one)
        generator.shuffle(names)
        line = json.dumps({name: one[name] for name in names}, ensure_ascii=generator.random() < 0.5,
                          separators=generator.choice([(",", ":"), (" , ", " : ")]))
        file.write(generator.choice(["", "", "\n", "  \n"]) + line + generator.choice(["\n", "\r\n", " \n"]))
        columns = [
            shown("int64", [], [one["big"]]),
            shown("bool", [], [int(one["flag"])]),
            shown("float32", [2, 2], [float_bits(number) for row in one["grid"] for number in row]),
            shown("int64", [], [identity]),
            shown("int32", [2], one["pair"]),
            shown("float32", [], [float_bits(one["real"])]),
            shown("int32", [], [one["small"]]),
            shown("string", [len(tags)], texts(tags)),
            shown("string", [], texts([one["text"]])),
            shown("string", [len(one["words"])], texts(one["words"])),
        ]
        print("\t".join(columns))
