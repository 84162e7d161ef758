#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `shoal plot` draws, read back by others: its pictures by Python's XML parser and by rsvg-convert, its terminals as pseudo-terminals.
The event files are written here, byte by byte. SHOAL_TEST_SHOAL is the program."""
import fcntl
import json
import math
import os
import pathlib
import pty
import random
import re
import resource
import select
import shlex
import shutil
import signal
import struct
import subprocess
import tempfile
import termios
import time
import unittest
import xml.etree.ElementTree as xml

SCALE = int(os.environ.get("SHOAL_TEST_TIMEOUT_SCALE") or 1)
SHOAL = shlex.split(os.environ["SHOAL_TEST_SHOAL"])
SVG = "{http://www.w3.org/2000/svg}"
ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def masked_crc(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out + bytes([number]))


def field(number, payload):
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def record(payload):
    length = struct.pack("<Q", len(payload))
    return length + struct.pack("<I", masked_crc(length)) + payload + struct.pack("<I", masked_crc(payload))


def event(step, wall, rest):
    return record(b"\x09" + struct.pack("<d", wall) + b"\x10" + varint(step) + rest)


def scalar(step, tag, value, wall=None):
    value = field(1, tag.encode()) + b"\x15" + struct.pack("<f", value)
    return event(step, 1000.0 + step if wall is None else wall, field(5, field(1, value)))


def tensor(step, tag, plugin, shape, values):
    dims = b"".join(field(2, b"\x08" + varint(size)) for size in shape)
    content = field(4, struct.pack(f"<{len(values)}f", *values))
    body = b"\x08\x01" + field(2, dims) + content
    value = field(1, tag.encode()) + field(8, body) + field(9, field(1, field(1, plugin.encode())))
    return event(step, 1000.0 + step, field(5, field(1, value)))


def histogram(step, tag, limits, counts):
    numbers = [("min", 1, -2.0), ("max", 2, limits[-1]), ("num", 3, float(sum(counts))), ("sum", 4, 0.0), ("squares", 5, 1.0)]
    body = b"".join(bytes([number << 3 | 1]) + struct.pack("<d", value) for _, number, value in numbers)
    body += field(6, struct.pack(f"<{len(limits)}d", *limits)) + field(7, struct.pack(f"<{len(counts)}d", *counts))
    return event(step, 1000.0 + step, field(5, field(1, field(1, tag.encode()) + field(5, body))))


def shoal(*arguments, status=0, **options):
    ran = subprocess.run([*SHOAL, *map(str, arguments)], capture_output=True, text=True, timeout=60 * SCALE, check=False, **options)
    if ran.returncode != status:
        raise AssertionError(f"{arguments}: status {ran.returncode}: {ran.stderr}")
    return ran.stdout if status == 0 else ran.stderr


class Terminal:
    """The program on a pseudo-terminal of so many columns."""

    def __init__(self, columns, *arguments, lines=40, **variables):
        self.parent, child = pty.openpty()
        fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"} | {"TERM": "xterm"} | variables
        # A terminal of its own, whose Ctrl-C reaches the program.
        self.process = subprocess.Popen([*SHOAL, *map(str, arguments)], stdin=child, stdout=child, stderr=child, env=environment,
                                        start_new_session=True)
        os.close(child)
        self.text = ""

    def read_until(self, wanted):
        """Reads until the pattern `wanted` is there; None: until the program has ended."""
        deadline = time.monotonic() + 60 * SCALE
        data = self.text.encode()
        while wanted is None or not re.search(wanted, self.text):
            if time.monotonic() > deadline:
                raise AssertionError(f"nothing of {wanted} came: {self.text}")
            if not select.select([self.parent], [], [], 1)[0]:
                continue
            try:
                piece = os.read(self.parent, 65536)
            except OSError:  # Linux says so when the other end is closed.
                piece = b""
            if not piece:
                break
            data += piece
            self.text = data.decode(errors="replace")
        return self.text

    def end(self):
        self.read_until(None)
        status = self.process.wait(60 * SCALE)
        os.close(self.parent)
        return status


class InFolder(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="shoal-plot-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def write(self, path, *records):
        path = self.folder / path / "events.out.tfevents.1000000000.h"
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "ab") as file:
            file.write(b"".join(records))
        return path.parent

    def run_of(self, name, seed, steps=300):
        source = random.Random(seed)
        losses = [2 / (1 + step / 20) + source.gauss(0, 0.05) for step in range(steps)]
        folder = self.write(name, *(scalar(step, "loss", value) for step, value in enumerate(losses)))
        self.write(name + "/eval", *(scalar(step, "accuracy", 1 - losses[step] / 3) for step in range(0, steps, 50)))
        return folder, losses

    def all_kinds(self, name):
        folder, _ = self.run_of(name, 1)
        thresholds = [i / 20 for i in range(21)]
        positives = [100 * (1 - t**3) for t in thresholds]
        negatives = [100 * (1 - t) ** 2 for t in thresholds]
        rows = [positives, negatives, [100 - n for n in negatives], [100 - p for p in positives],
                [p / max(p + n, 1e-9) for p, n in zip(positives, negatives)], [p / 100 for p in positives]]
        self.write(name + "/eval", tensor(300, "auc/pr_curve", "pr_curves", [6, 21], [value for row in rows for value in row]),
                   tensor(300, "confusion_matrix", "shoal_confusion_matrix", [3, 3], [50, 3, 2, 0, 40, 10, 7, 7, 31]))
        self.write(name, *(histogram(step, "dense/kernel", [-1.0, 0.0, 1.0, 2.0], [1, 5, 9, step / 100]) for step in range(0, 300, 10)))
        return folder


def panels(svg):
    return [group for group in svg.iter(SVG + "g") if group.get("class") == "panel"]


def data_of(panel, path):
    """The points of a path, as data again, and how much a pixel is in both directions."""
    area = next(item for item in panel.iter(SVG + "rect") if item.get("class") == "area")
    left, top, width, height = (float(area.get(name)) for name in ("x", "y", "width", "height"))
    low_x, high_x, low_y, high_y = (float(panel.get("data-" + name)) for name in ("x-low", "x-high", "y-low", "y-high"))
    log = panel.get("data-y-scale") == "log"
    points = []
    for x, y in re.findall(r"[ML](-?[\d.]+) (-?[\d.]+)", path.get("d")):
        share = 1 - (float(y) - top) / height
        value = low_y * (high_y / low_y) ** share if log else low_y + share * (high_y - low_y)
        points.append((low_x + (float(x) - left) / width * (high_x - low_x), value))
    return points, (high_x - low_x) / width, (high_y - low_y) / height


class Pictures(InFolder):
    def test_points_are_where_the_data_is(self):
        folder, losses = self.run_of("m", 3, steps=100)
        for options in ([], ["--log-y"]):
            picture = self.folder / ("p" + "".join(options) + ".svg")
            shoal("plot", folder, "-o", picture, "--tag", "loss", *options)
            panel, = panels(xml.parse(picture))
            path = next(item for item in panel.iter(SVG + "path") if item.get("class") == "line")
            points, pixel_x, pixel_y = data_of(panel, path)
            self.assertEqual(len(points), len(losses))
            for step, (x, y) in enumerate(points):
                self.assertAlmostEqual(x, step, delta=pixel_x)
                self.assertAlmostEqual(y, losses[step], delta=pixel_y if not options else losses[step] * 0.02)

    def test_legends_name_the_parameters_that_differ(self):
        folders = []
        for name, rate in (("a", 0.1), ("b", 0.00123456)):
            folder, _ = self.run_of(name, 5)
            flags = {"learning-rate": rate, "batch": 64}
            (folder / "report.json").write_text(json.dumps({"seed": 1, "flags": flags}))
            folders.append(folder)
        picture = self.folder / "p.svg"
        shoal("plot", *folders, "-o", picture)
        texts = [item.text for item in xml.parse(picture).iter(SVG + "text")]
        self.assertIn("a: learning-rate 0.1", texts)
        self.assertIn("b: learning-rate 0.001235", texts)
        drawn = shoal("plot", *folders, "--width", "100")
        self.assertRegex(drawn, r"(?m)^a +a .*  learning-rate 0\.1$")
        self.assertNotIn("batch", drawn)
        (folders[1] / "report.json").write_text("{")  # The curves are there all the same.
        drawn = shoal("plot", *folders, "--width", "100")
        self.assertIn(" b ", drawn)
        self.assertNotIn("batch", drawn)

    def test_many_points_keep_their_extremes(self):
        values = [random.Random(step).random() for step in range(30000)]
        values[12345], values[23456] = 9.0, -9.0
        folder = self.write("m", *(scalar(step, "loss", value) for step, value in enumerate(values)))
        picture = self.folder / "p.svg"
        shoal("plot", folder, "-o", picture)
        panel, = panels(xml.parse(picture))
        points, pixel_x, pixel_y = data_of(panel, next(item for item in panel.iter(SVG + "path") if item.get("class") == "line"))
        self.assertLess(len(points), 5000)
        for step in (12345, 23456):
            self.assertTrue(any(abs(x - step) <= pixel_x and abs(y - values[step]) <= pixel_y for x, y in points))

    def test_smoothing_is_the_formula(self):
        folder, losses = self.run_of("m", 4, steps=60)
        picture = self.folder / "p.svg"
        shoal("plot", folder, "-o", picture, "--tag", "loss", "--smooth", "0.8")
        panel, = panels(xml.parse(picture))
        lines = {item.get("class"): item for item in panel.iter(SVG + "path") if item.get("class")}
        points, _, pixel = data_of(panel, lines["line"])
        for n, (_, y) in enumerate(points):
            weights = [0.8 ** (n - i) for i in range(n + 1)]
            self.assertAlmostEqual(y, sum(w * v for w, v in zip(weights, losses)) / sum(weights), delta=pixel)
        recorded, _, pixel = data_of(panel, lines["recorded"])
        self.assertAlmostEqual(recorded[-1][1], losses[-1], delta=pixel)

    def test_names_from_outside_are_only_text(self):
        folder = self.write("a<b>&\"'\x07", *(scalar(step, "loss</svg><script>", 1.0 + step) for step in range(3)))
        picture = self.folder / "p.svg"
        shoal("plot", folder, folder, "-o", picture, "--tag", "*", "--title", "1 < 2 & \"3\"")
        root = xml.parse(picture).getroot()
        self.assertEqual([item for item in root.iter() if "script" in item.tag], [])
        self.assertIn("1 < 2 & \"3\"", [item.text for item in root.iter(SVG + "text")])

    def test_every_kind_is_a_picture(self):
        folders = [self.all_kinds("a"), self.all_kinds("b")]
        converter = shutil.which("rsvg-convert")
        for kind in ("curves", "histograms", "confusion", "roc", "pr"):
            picture = self.folder / (kind + ".svg")
            shoal("plot", *folders, "--kind", kind, "-o", picture)
            root = xml.parse(picture).getroot()
            width, height = float(root.get("width")), float(root.get("height"))
            for item in root.iter(SVG + "text"):
                size, length = float(item.get("font-size")), 0.5 * float(item.get("font-size")) * len(item.text or "")
                x = float(item.get("x")) - {"middle": length / 2, "end": length}.get(item.get("text-anchor"), 0)
                self.assertGreaterEqual(x, -1, item.text)
                self.assertLessEqual(x + length, width + 1, item.text)
                self.assertTrue(size * 0.5 <= float(item.get("y")) <= height, item.text)
            if converter:
                image = self.folder / (kind + ".png")
                subprocess.run([converter, "-o", image, picture], check=True, timeout=60 * SCALE)
                self.assertGreater(image.stat().st_size, 2000)
        if not converter:
            self.skipTest("there is no rsvg-convert")

    def test_areas_are_those_of_the_counts(self):
        folder = self.all_kinds("m")
        thresholds = [i / 20 for i in range(21)]
        points = [(0.0, 0.0)] + [((1 - t) ** 2, 1 - t**3) for t in reversed(thresholds)] + [(1.0, 1.0)]
        area = sum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in zip(points, points[1:]))
        said = float(re.search(r"AUC ([\d.]+)", shoal("plot", folder, "--kind", "roc")).group(1))
        self.assertAlmostEqual(said, area, places=3)
        self.assertIn("121 of 150 are right", shoal("plot", folder, "--kind", "confusion"))

    def test_a_long_run_has_more_files_than_a_process_may_open(self):
        folder = self.write("m/eval", scalar(1, "loss", 1.0))
        for step in range(2, 200):
            (folder / f"events.out.tfevents.{1000000000 + step}.h").write_bytes(scalar(step, "loss", 1 / step))
        text = shoal("plot", folder.parent, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40)))
        self.assertIn("best 0.005025 at step 199", text)

    def test_a_disk_that_is_full_leaves_nothing(self):
        folder, _ = self.run_of("m", 1)
        picture = self.folder / "p.svg"
        error = shoal("plot", folder, "-o", picture, status=1,
                      preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)))
        self.assertIn("p.svg", error)
        self.assertEqual(list(self.folder.glob("p.svg*")), [])


class Terminals(InFolder):
    def test_no_line_is_wider_than_the_terminal(self):
        folders = [self.all_kinds("a run of a long name"), self.all_kinds("b")]
        for columns in (20, 80, 200):
            for kind in ("curves", "histograms", "confusion", "roc", "pr"):
                terminal = Terminal(columns, "plot", *folders, "--kind", kind)
                self.assertEqual(terminal.end(), 0, terminal.text)
                for line in ESCAPES.sub("", terminal.text).splitlines():
                    self.assertLessEqual(len(line), columns, f"{kind}: {line!r}")

    def test_colours_are_for_terminals_that_want_them(self):
        folder, _ = self.run_of("m", 1)
        for variables, coloured in (({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)):
            terminal = Terminal(80, "plot", folder, **variables)
            self.assertEqual(terminal.end(), 0)
            self.assertEqual("\x1b[" in terminal.text, coloured, variables)
        self.assertNotIn("\x1b", shoal("plot", folder))

    def test_follow_draws_what_comes_and_ends_with_the_run(self):
        folder = self.write("m", scalar(1, "loss", 4.0))
        terminal = Terminal(80, "plot", folder, "--follow")
        terminal.read_until(r"m  4")
        self.write("m", scalar(2, "loss", 2.5))
        terminal.read_until(r"m  2\.5")
        self.write("m", scalar(3, "loss", 1.25))
        mark = {"run": 1, "global_step": 3, "checkpoint": "", "reason": "max_steps", "wall_time": 1e9}
        (folder / "training_finished").write_text(json.dumps(mark) + "\n")
        self.assertEqual(terminal.end(), 0, terminal.text)
        self.assertIn("m  1.25", terminal.text)

    def test_follow_tells_of_damage_at_the_end(self):
        folder = self.write("m", scalar(1, "loss", 4.0))
        (folder / "events.out.tfevents.1000000001.h").write_bytes(b"x" * 40)
        mark = {"run": 1, "global_step": 3, "checkpoint": "", "reason": "max_steps", "wall_time": 1e9}
        (folder / "training_finished").write_text(json.dumps(mark) + "\n")
        terminal = Terminal(80, "plot", folder, "--follow")
        self.assertEqual(terminal.end(), 4, terminal.text)
        self.assertLess(terminal.text.rindex("best 4"), terminal.text.rindex("is damaged"))

    def test_follow_waits_for_a_run_and_ends_by_ctrl_c(self):
        folder = self.folder / "m"
        folder.mkdir()
        terminal = Terminal(20, "plot", folder, "--follow", lines=6)
        terminal.read_until(r"Nothing to")
        self.run_of("m", 1)
        terminal.read_until(r"More does not fit|loss")
        os.kill(terminal.process.pid, signal.SIGINT)
        self.assertEqual(terminal.end(), 0, terminal.text)


class Garbage(InFolder):
    def test_no_bytes_crash_it(self):
        source = random.Random(1)
        good = b"".join(scalar(step, "loss", 1.0 / (step + 1)) for step in range(50))
        for i in range(60):
            data = bytearray(good)
            for _ in range(source.randrange(1, 6)):
                data[source.randrange(len(data))] = source.randrange(256)
            folder = self.folder / str(i)
            folder.mkdir()
            (folder / "events.out.tfevents.1.h").write_bytes(data[: source.randrange(len(data))])
            ran = subprocess.run([*SHOAL, "plot", folder], capture_output=True, timeout=60 * SCALE, check=False)
            self.assertIn(ran.returncode, (0, 2, 4), ran.stderr)

    def test_numbers_at_the_ends_of_their_ranges(self):
        big = struct.unpack("<f", b"\xff\xff\x7f\x7f")[0]
        for values in ([big, -big], [1e-45, 0.0], [math.inf, 1.0], [math.nan], [-math.inf]):
            folder = self.write(f"m{values}", *(scalar(step * (2**62), "loss", value, wall=1e300 * step) for step, value in enumerate(values)))
            for options in ([], ["--x", "time"], ["--log-y"], ["--smooth", "0.9"]):
                shoal("plot", folder, *options)
                shoal("plot", folder, "-o", self.folder / "p.svg", *options)
                xml.parse(self.folder / "p.svg")
        self.assertIn("differs", shoal("compare", self.folder / "m[nan]", self.folder / "m[-inf]"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
