#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `shoal data` says of files, next to what numpy, pandas, Pillow and Python's csv, json and tarfile find in them. Whoever is missing
here is skipped with a word. SHOAL_TEST_SHOAL is the program."""
import collections
import csv
import gzip
import io
import json
import os
import pathlib
import random
import shlex
import struct
import subprocess
import sys
import tarfile
import tempfile
import unittest

try:
    import numpy
    import pandas
    import PIL.Image
except ImportError as missing:
    numpy = None
    WHY = str(missing)

SCALE = int(os.environ.get("SHOAL_TEST_TIMEOUT_SCALE") or 1)
SHOAL = shlex.split(os.environ["SHOAL_TEST_SHOAL"])
MIB = 1 << 20
SHARES = {"0.01": 0.01, "0.05": 0.05, "0.25": 0.25, "0.5": 0.5, "0.75": 0.75, "0.95": 0.95, "0.99": 0.99}


def shoal(*arguments, status=0):
    ran = subprocess.run([*SHOAL, "data", *map(str, arguments)], capture_output=True, text=True, timeout=120 * SCALE, check=False)
    if ran.returncode != status:
        raise AssertionError(f"{arguments}: status {ran.returncode}: {ran.stderr}")
    return ran.stdout if status == 0 else ran.stderr


def asked(*arguments):
    return json.loads(shoal(*arguments, "--json"))


def by_name(fields):
    return {field["name"]: field for field in fields}


# A process counts the memory of the one that it was forked from, so that a small one has to start the program.
MEASURE = """import os, subprocess, sys
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
status, usage = os.wait4(process.pid, 0)[1:]
print(usage.ru_maxrss * 1024)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def peak_bytes(*arguments):
    """The most memory that the program had at once."""
    options = os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1"  # What was freed is not kept for long.
    ran = subprocess.run([sys.executable, "-c", MEASURE, *SHOAL, "data", *map(str, arguments)], stdout=subprocess.PIPE,
                         env=os.environ | {"ASAN_OPTIONS": options}, timeout=300 * SCALE, check=True)
    return int(ran.stdout)


class Folder(unittest.TestCase):
    def setUp(self):
        if numpy is None:
            self.skipTest(WHY)
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.folder = pathlib.Path(place.name)
        self.random = random.Random(7)

    def table(self, rows=1000):
        """A table with gaps, quotes and line ends in fields."""
        path = self.folder / "table"
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["wood", "age", "height", "note"])
            for row in range(rows):
                height = "" if row % 40 == 0 else round(self.random.gauss(10, 2), 3)
                writer.writerow([self.random.choice(["oak", "ash", "elm"]), row * 7 % 97 - 5, height, 'say "a,\nb"' if row % 3 else "é"])
        return path


class Describe(Folder):
    def test_a_table_has_what_pandas_finds(self):
        path = self.table()
        frame = pandas.read_csv(path)
        file = asked("describe", path)["files"][0]
        self.assertEqual((file["format"], file["records"], file["separator"], file["header"]), ("csv", len(frame), ",", True))
        self.assertEqual([field["name"] for field in file["fields"]], list(frame.columns))
        fields = by_name(file["fields"])
        for name in frame.columns:
            self.assertEqual(fields[name]["missing"], int(frame[name].isna().sum()))
        for name, kind in (("age", "int64"), ("height", "float32")):
            self.assertEqual((fields[name]["type"], fields[name]["min"], fields[name]["max"]), (kind, frame[name].min(), frame[name].max()))
        lengths = [len(text.encode()) for text in frame["note"]]
        self.assertEqual((fields["note"]["type"], fields["note"]["bytes"]), ("text", {"min": min(lengths), "max": max(lengths)}))

    def test_a_compressed_table_of_another_separator_without_a_header(self):
        path = self.folder / "a.bin"
        path.write_bytes(gzip.compress(b"1;a\n2;b\n3;\n"))
        file = asked("describe", path)["files"][0]
        self.assertEqual((file["format"], file["separator"], file["header"], file["records"]), ("csv", ";", False, 3))
        self.assertEqual([(field["name"], field["type"], field["missing"]) for field in file["fields"]],
                         [("column 1", "int64", 0), ("column 2", "text", 1)])

    def test_lines_of_json(self):
        rows = [{"id": i, "of": {"name": f"n{i % 3}", "scores": [i / 2] * (i % 4)}, "ok": i % 2 == 0, **({"rare": None} if i % 5 else {"rare": 1})}
                for i in range(50)]
        path = self.folder / "rows"
        path.write_text("".join(json.dumps(row) + "\n\n" for row in rows))
        file = asked("describe", path)["files"][0]
        self.assertEqual((file["format"], file["records"]), ("json-lines", 50))
        fields = by_name(file["fields"])
        self.assertEqual({name: field["type"] for name, field in fields.items()},
                         {"id": "int64", "of.name": "text", "of.scores": "float32", "ok": "bool", "rare": "int64"})
        self.assertEqual(fields["of.scores"]["lengths"], {"min": 0, "max": 3})
        self.assertEqual(fields["of.scores"]["max"], max(max(row["of"]["scores"], default=0) for row in rows))
        self.assertEqual(fields["rare"]["missing"], sum(row["rare"] is None for row in rows))

    def test_arrays_have_the_types_and_shapes_of_numpy(self):
        for kind in ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "float16", "float32", "float64", ">i4", ">f8"):
            array = (numpy.arange(24).reshape(4, 3, 2) % 2).astype(kind)
            for laid in (array, numpy.asfortranarray(array)):
                numpy.save(self.folder / "a.npy", laid)
                file = asked("describe", self.folder / "a.npy")["files"][0]
                self.assertEqual(file["arrays"], [{"name": "", "type": array.dtype.name, "shape": [4, 3, 2]}])
                self.assertEqual((file["format"], file["records"], file["fields"][0]["min"], file["fields"][0]["max"]), ("npy", 4, 0, 1))
        numpy.savez_compressed(self.folder / "z", x=numpy.arange(20.).reshape(5, 4), y=numpy.array(["a", "bcd"] * 2 + [""]), n=numpy.int64(5))
        file = asked("describe", self.folder / "z.npz")["files"][0]
        self.assertEqual(file["format"], "npz")
        self.assertEqual({array["name"]: (array["type"], array["shape"]) for array in file["arrays"]},
                         {"x": ("float64", [5, 4]), "y": ("U3", [5]), "n": ("int64", [])})
        self.assertEqual(by_name(file["fields"])["x"]["max"], 19)

    def test_archives_have_the_samples_of_tarfile(self):
        path = self.folder / "samples"
        with tarfile.open(path, "w") as tar:
            for number in range(4):
                for end, contents in (("cls", str(number).encode()), ("bin", b"\xff" * (3 + number))):
                    member = tarfile.TarInfo(f"train/{number}.{end}")
                    member.size = len(contents)
                    tar.addfile(member, io.BytesIO(contents))
        file = asked("describe", path)["files"][0]
        with tarfile.open(path) as tar:
            sizes = collections.defaultdict(list)
            for member in tar:
                sizes[member.name.split(".", 1)[1]].append(member.size)
        fields = by_name(file["fields"])
        self.assertEqual((file["format"], file["records"]), ("tar", 4))
        self.assertEqual(set(fields), {"__key__", *sizes})
        for end, found in sizes.items():
            self.assertEqual(fields[end]["bytes"], {"min": min(found), "max": max(found)})

    def test_pictures_and_folders_of_them(self):
        for kind, count in (("cat", 3), ("dog", 2)):
            (self.folder / "p" / kind).mkdir(parents=True)
            for number in range(count):
                PIL.Image.fromarray(numpy.full((20, 30, 3), number, "uint8")).save(self.folder / "p" / kind / f"{number}.png")
        (self.folder / "p" / "notes.txt").write_text("x")
        file = asked("describe", self.folder / "p")["files"][0]
        self.assertEqual((file["format"], file["records"], file["classes"], file["passed_over"]),
                         ("image-folder", 5, [{"name": "cat", "count": 3}, {"name": "dog", "count": 2}], 1))
        image = asked("describe", self.folder / "p" / "cat" / "2.png")["files"][0]
        self.assertEqual((image["format"], image["fields"][0]["shape"], image["fields"][0]["max"]), ("image", [20, 30, 3], 2))

    def test_idx_and_text(self):
        (self.folder / "i").write_bytes(struct.pack(">HBBIII", 0, 8, 3, 5, 4, 3) + bytes(range(60)))
        file = asked("describe", self.folder / "i")["files"][0]
        self.assertEqual((file["format"], file["records"], file["arrays"]), ("idx", 5, [{"name": "", "type": "uint8", "shape": [5, 4, 3]}]))
        (self.folder / "t").write_text("one line\nand\n\nanother\n")
        file = asked("describe", self.folder / "t")["files"][0]
        self.assertEqual((file["format"], file["records"], file["fields"][0]["bytes"]), ("text", 4, {"min": 0, "max": 8}))


class Statistics(Folder):
    def check_numbers(self, field, values, exact):
        self.assertEqual((field["count"], field["exact"]), (len(values), exact))
        self.assertAlmostEqual(field["mean"], float(values.mean()), delta=1e-9 * abs(values).max())
        self.assertAlmostEqual(field["standard_deviation"], float(values.std()), delta=1e-6 * values.std())
        self.assertEqual((field["min"], field["max"]), (values.min(), values.max()))
        ordered = numpy.sort(values)
        for name, share in SHARES.items():
            found = field["quantiles"][name]
            if exact:
                self.assertEqual(found, numpy.quantile(values, share, method="inverted_cdf"))
            else:  # The rank is what a sketch promises.
                low, high = numpy.searchsorted(ordered, found, "left") / len(values), numpy.searchsorted(ordered, found, "right") / len(values)
                self.assertLess(max(low - share, share - high, 0), 0.003, (name, found))
        counts, edges = numpy.histogram(values, bins=10)
        self.assertEqual(len(field["histogram"]), 10)
        for one, count, low in zip(field["histogram"], counts, edges):
            self.assertAlmostEqual(one["from"], low, delta=1e-9 * abs(values).max())
            self.assertLessEqual(abs(one["count"] - count), 0 if exact else 0.006 * len(values))

    def test_a_table_has_the_numbers_of_numpy(self):
        path = self.table()
        frame = pandas.read_csv(path)
        said = asked("statistics", path)
        self.assertEqual(said["records"], len(frame))
        fields = by_name(said["fields"])
        self.check_numbers(fields["age"], frame["age"].to_numpy(), True)
        self.check_numbers(fields["height"], frame["height"].dropna().to_numpy(), True)
        self.assertEqual(fields["height"]["missing"], int(frame["height"].isna().sum()))
        counted = collections.Counter(frame["wood"])
        self.assertEqual([(one["text"], one["count"]) for one in fields["wood"]["most_frequent"]],
                         sorted(counted.items(), key=lambda item: (-item[1], item[0])))
        self.assertEqual((fields["wood"]["distinct"], fields["wood"]["exact"]), (3, True))
        self.assertEqual([field["name"] for field in asked("statistics", path, "--column", "age")["fields"]], ["age"])

    def test_beyond_the_bounds_errors_are_as_promised(self):
        generator = numpy.random.default_rng(3)
        for values in (generator.normal(size=300_000), numpy.arange(200_000.), numpy.sort(generator.exponential(size=100_000))[::-1]):
            values = values.astype("float32")
            numpy.save(self.folder / "a.npy", values)
            self.check_numbers(asked("statistics", self.folder / "a.npy")["fields"][0], values.astype("float64"), False)
        # Half of the texts are a few frequent ones, and the others come once.
        texts = [f"often{self.random.randrange(5)}" if self.random.random() < 0.5 else f"once{number}" for number in range(60_000)]
        (self.folder / "t").write_text("".join(text + "\n" for text in texts))
        field = asked("statistics", self.folder / "t")["fields"][0]
        self.assertEqual((field["exact"], field["distinct"], field["count"]), (False, 10_000, len(texts)))
        counted = collections.Counter(texts)
        self.assertEqual({one["text"] for one in field["most_frequent"][:5]}, {f"often{i}" for i in range(5)})
        for one in field["most_frequent"]:
            self.assertLessEqual(one["count"], counted[one["text"]])
            self.assertGreaterEqual(one["count"], counted[one["text"]] - len(texts) / 10_000)

    def test_infinite_numbers_and_none(self):
        values = numpy.array([1, numpy.nan, numpy.inf, 3, -numpy.inf], "float32")
        numpy.save(self.folder / "a.npy", values)
        field = asked("statistics", self.folder / "a.npy")["fields"][0]
        self.assertEqual((field["missing"], field["infinite"], field["mean"], field["min"], field["max"]), (1, 2, 2, "-Infinity", "Infinity"))

    def test_memory_does_not_grow_with_the_file(self):
        """The larger files are almost twice as large as the bound."""
        bound = 32 * MIB
        generator = numpy.random.default_rng(5)
        peaks = {}
        for name, rows in (("small", 1000), ("large", 64 * MIB // 32)):
            path = self.folder / name
            numpy.save(path.with_suffix(".npy"), generator.normal(size=(rows, 4)))
            with path.open("w") as file:
                file.write("id,text\n")
                for begin in range(0, rows, 100_000):
                    file.writelines(f"{row},text of the row {row}\n" for row in range(begin, min(begin + 100_000, rows)))
            for command in (["statistics"], ["sample", "-n", 3], ["describe"]):
                for of in (path, path.with_suffix(".npy")):
                    peaks[name, command[0], of.suffix] = peak_bytes(*command, of)
        for path in (self.folder / "large", self.folder / "large.npy"):
            self.assertGreater(path.stat().st_size, 1.8 * bound)
        for (name, command, suffix), peak in peaks.items():
            if name == "large":
                self.assertLess(peak - peaks["small", command, suffix], bound, (command, suffix))


class Sample(Folder):
    def test_each_record_is_as_likely_as_any_other(self):
        path = self.folder / "t"
        path.write_text("".join(f"{number}\n" for number in range(10)))
        counts = collections.Counter()
        for seed in range(120):
            drawn = [int(one["values"][""]) for one in asked("sample", path, "-n", 5, "--seed", seed)["sample"]]
            self.assertEqual((len(set(drawn)), drawn), (5, sorted(drawn)))
            counts.update(drawn)
        for number in range(10):  # 60 are expected, with a deviation of 5.5.
            self.assertTrue(35 < counts[number] < 85, counts)
        self.assertEqual(asked("sample", path, "--seed", 4), asked("sample", path, "--seed", 4))

    def test_values_are_those_of_the_file(self):
        path = self.table(30)
        frame = pandas.read_csv(path)
        sample = asked("sample", path, "-n", 30)
        self.assertEqual(sample["records"], 30)
        for one, row in zip(sample["sample"], frame.itertuples(index=False)):
            values = one["values"]
            self.assertEqual((values["wood"], values["age"], values["note"]), (row.wood, row.age, row.note))
            self.assertTrue(values["height"] == row.height or (values["height"] is None and row.height != row.height))
        array = numpy.arange(12, dtype="int32").reshape(3, 2, 2)
        numpy.save(self.folder / "a.npy", array)
        self.assertEqual([one["values"][""] for one in asked("sample", self.folder / "a.npy", "-n", 2, "--first")["sample"]], array[:2].tolist())

    def test_a_picture_is_drawn(self):
        picture = numpy.zeros((20, 40), "uint8")
        picture[:, 20:] = 255
        PIL.Image.fromarray(picture).save(self.folder / "p.png")
        drawn = shoal("sample", self.folder / "p.png").splitlines()[2:]
        self.assertEqual(drawn, [" " * 20 + "@" * 20] * 10)


class Vocabulary(Folder):
    def test_words_are_counted_as_python_counts_them(self):
        texts = ["".join(self.random.choices("abc ", k=6)) for _ in range(500)]
        path = self.folder / "t"
        path.write_text("".join(text + "\n" for text in texts))
        for split, words in ((["--words"], [word for text in texts for word in text.split()]), ([], [text for text in texts if text])):
            ordered = sorted(collections.Counter(words).items(), key=lambda item: (-item[1], item[0]))
            self.assertEqual(shoal("vocabulary", path, *split), "".join(word + "\n" for word, _ in ordered))
            said = asked("vocabulary", path, *split, "--size", 7, "--min-count", 2)
            self.assertEqual([(one["word"], one["count"]) for one in said["vocabulary"]], [item for item in ordered if item[1] >= 2][:7])
            self.assertEqual((said["count"], said["distinct"]), (len(words), len(ordered)))


class Damage(Folder):
    def test_it_is_told_with_file_and_place(self):
        array = numpy.arange(1000.)
        numpy.save(self.folder / "a.npy", array)
        cut = self.folder / "cut.npy"
        cut.write_bytes((self.folder / "a.npy").read_bytes()[:-8])
        self.assertRegex(shoal("statistics", cut, status=4), r"cut\.npy: .*truncated.*offset")
        (self.folder / "t").write_text("a,b\n1,2\n3\n")
        self.assertRegex(shoal("describe", self.folder / "t", "--format", "csv", status=4), r"/t, line 3 \(offset 8\)")
        (self.folder / "j").write_text('{"a": 1}\n{"a": }\n')
        self.assertRegex(shoal("describe", self.folder / "j", status=4), r"/j, line 2: .*at byte 7")
        whole = gzip.compress(b"1,2\n" * 20_000, mtime=0)
        (self.folder / "g").write_bytes(whole[:len(whole) // 2])
        self.assertRegex(shoal("statistics", self.folder / "g", status=4), r"/g")


if __name__ == "__main__":
    unittest.main(verbosity=2)
