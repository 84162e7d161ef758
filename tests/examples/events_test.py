# SPDX-License-Identifier: Apache-2.0
"""The event files of the example programs, read by Python's protobuf with the published schemas.

usage: events_test.py MNIST CIFAR TEXT ADULT HOUSING        (the programs)

Frames are checked by a CRC-32C of this file's own, payloads by the schemas in tests/monitor, which protoc turns into Python. No
message may have a field that its schema lacks. Status 77, with a word, where protoc or python3-protobuf is missing.
"""
import importlib
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

SCHEMAS = pathlib.Path(__file__).resolve().parent.parent / "monitor"
PROGRAMS = {}


def crc_table():
    table = []
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
        table.append(crc)
    return table


CRC_TABLE = crc_table()


def masked_crc(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ CRC_TABLE[(crc ^ byte) & 255]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def load_schemas(folder):
    names = ["event.proto", "graph.proto", "plugins.proto"]
    subprocess.run(["protoc", f"--python_out={folder}", f"-I{SCHEMAS}", *names], check=True)
    sys.path.insert(0, str(folder))
    return [importlib.import_module(name.replace(".proto", "_pb2")) for name in names]


def records(path):
    data = path.read_bytes()
    while data:
        (length, crc) = struct.unpack("<QI", data[:12])
        assert crc == masked_crc(data[:8]), f"{path}: checksum of a length"
        payload = data[12:12 + length]
        assert struct.unpack("<I", data[12 + length:16 + length])[0] == masked_crc(payload), f"{path}: checksum of a payload"
        yield payload
        data = data[16 + length:]


def unknown_fields(message, where=""):
    """Paths of messages that have fields which their schema lacks."""
    found = [where or message.DESCRIPTOR.name] if len(message.UnknownFields()) else []
    for field, value in message.ListFields():
        if field.message_type is None or field.message_type.GetOptions().map_entry:
            continue
        for one in value if field.label == field.LABEL_REPEATED else [value]:
            found += unknown_fields(one, f"{where}/{field.name}")
    return found


def files_of(folder):
    """The events of each file, in the order of names; the first record of each is the version."""
    files = []
    for path in sorted(pathlib.Path(folder).glob("events.out.tfevents.*")):
        events = [event_pb2.Event.FromString(payload) for payload in records(path)]
        assert events[0].file_version == "brain.Event:2", path
        assert all(not event.file_version for event in events[1:]), path
        for event in events:
            assert not unknown_fields(event), f"{path}: {unknown_fields(event)}"
            assert event.wall_time > 1.6e9
        files.append(events)
    return files


def values_of(folder):
    return [(event.step, value) for events in files_of(folder) for event in events for value in event.summary.value]


def scalar(folder, tag):
    """The newest scalar of this tag, and its step."""
    return [(step, value.simple_value) for step, value in values_of(folder) if value.tag == tag][-1]


def hparams_of(folder, kind):
    """What the plug-in hparams has of this kind, one for each event."""
    found = []
    for step, value in values_of(folder):
        if value.metadata.plugin_data.plugin_name != "hparams":
            continue
        assert step == 0
        assert value.tensor.dtype == event_pb2.DT_FLOAT and list(value.tensor.float_val) == [0]
        data = plugins_pb2.HParamsPluginData.FromString(value.metadata.plugin_data.content)
        assert not unknown_fields(data) and data.version == 0
        assert value.tag == "_hparams_/" + data.WhichOneof("data")
        if data.HasField(kind):
            found.append(getattr(data, kind))
    return found


def rows_of(tensor, plugin, value):
    """A matrix of float32 as lists."""
    assert value.metadata.plugin_data.plugin_name == plugin
    assert tensor.dtype == event_pb2.DT_FLOAT
    (rows, columns) = [dim.size for dim in tensor.tensor_shape.dim]
    numbers = list(tensor.float_val)
    assert len(numbers) == rows * columns
    return [numbers[i * columns:(i + 1) * columns] for i in range(rows)]


def check_graph(definition):
    """Every input is an output of a node that stands before; names are unique."""
    graph = graph_pb2.GraphDef.FromString(definition)
    assert not unknown_fields(graph) and graph.versions.producer > 0
    outputs = {}
    for node in graph.node:
        assert node.name not in outputs and node.op
        for name in node.input:
            (producer, _, index) = name.partition(":")
            assert int(index or 0) < outputs[producer], f"{node.name} takes {name}"
        outputs[node.name] = len(node.attr["_output_shapes"].list.shape)
        assert outputs[node.name] == 0 or node.attr["dtype"].type in (1, 3, 4, 7, 9, 10, 14, 19), node.name
    return graph


class Examples(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.model = self.folder / "model"

    def train(self, program, *arguments, status=0, environment=()):
        command = [PROGRAMS[program], "--quiet", "--model-dir", str(self.model), "--threads", "1", *map(str, arguments)]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=500, env=dict(environment))
        self.assertEqual(ended.returncode, status, ended.stderr)

    def check_run(self, steps, **flags):
        """What the events of every training have. `flags`: some that the session must tell."""
        (start, *more) = hparams_of(self.model, "session_start_info")
        self.assertEqual(more, [])
        self.assertEqual(start.model_uri, str(self.model))
        self.assertGreater(start.start_time_secs, 1.6e9)
        for name, expected in {"steps": steps, **flags}.items():
            value = start.hparams[name.replace("_", "-")]
            self.assertEqual(getattr(value, value.WhichOneof("kind")), expected, name)
        (end,) = hparams_of(self.model, "session_end_info")
        self.assertEqual(end.status, plugins_pb2.STATUS_SUCCESS)
        self.assertGreaterEqual(end.end_time_secs, start.start_time_secs)
        graphs = [event.graph_def for events in files_of(self.model) for event in events if event.graph_def]
        self.assertEqual(len(graphs), 1)
        graph = check_graph(graphs[0])
        self.assertIn("loss", {value.tag for _, value in values_of(self.model)})
        logged = [event.session_log.status for events in files_of(self.model) for event in events if event.HasField("session_log")]
        self.assertEqual(logged, [event_pb2.SessionLog.START])
        (step, _) = scalar(self.model / "eval", "loss")
        self.assertEqual(step, steps)
        texts = [value.tensor.string_val for _, value in values_of(self.model / "eval") if value.tag == "checkpoint_path"]
        self.assertTrue(texts and texts[-1][0].decode().endswith(f"model.ckpt-{steps}"))
        return graph

    def check_matrix(self, classes):
        found = [(step, value) for step, value in values_of(self.model / "eval") if value.tag == "accuracy/confusion_matrix"]
        (step, value) = found[-1]
        rows = rows_of(value.tensor, "shoal_confusion_matrix", value)
        self.assertEqual(len(rows), classes)
        right = sum(rows[i][i] for i in range(classes)) / sum(map(sum, rows))
        (accuracy_step, accuracy) = scalar(self.model / "eval", "accuracy")
        self.assertEqual(step, accuracy_step)
        self.assertAlmostEqual(right, accuracy, places=6)
        return rows

    def test_mnist(self):
        self.train("mnist", "--steps", 20, "--batch", 16)
        graph = self.check_run(20, batch=16)
        ops = {node.op for node in graph.node}
        self.assertLessEqual({"input", "variable"}, ops)
        self.check_matrix(10)

    def test_three_starts(self):
        for steps in (10, 20, 30):
            self.train("mnist", "--steps", steps, "--batch", 16)
        self.check_starts()

    def test_three_starts_of_a_chief(self):
        for steps in (10, 20, 30):
            self.train("mnist", "--steps", steps, "--batch", 16, "--cluster", "ps:1,worker:1,evaluator")
        self.check_starts()

    def check_starts(self):
        starts = []
        for events in files_of(self.model):
            logs = [event for event in events if event.HasField("session_log")]
            self.assertEqual([log.session_log.status for log in logs], [event_pb2.SessionLog.START])
            starts.append(logs[0].step)
            losses = [event.step for event in events for value in event.summary.value if value.tag == "loss"]
            self.assertTrue(losses and min(losses) >= starts[-1])
        self.assertEqual(len(starts), 3)
        self.assertEqual(starts[0], 1)
        self.assertEqual(starts, sorted(set(starts)))
        self.assertEqual([start.hparams["steps"].number_value for start in hparams_of(self.model, "session_start_info")], [10, 20, 30])
        self.assertEqual(len(hparams_of(self.model, "session_end_info")), 3)

    def test_a_failure(self):
        self.train("mnist", "--steps", 200, "--batch", 16, "--learning-rate", "1e30", status=3)
        (end,) = hparams_of(self.model, "session_end_info")
        self.assertEqual(end.status, plugins_pb2.STATUS_FAILURE)
        (start,) = hparams_of(self.model, "session_start_info")
        self.assertEqual(start.hparams["learning-rate"].number_value, 1e30)

    def test_cifar(self):
        self.train("cifar", "--steps", 2, "--batch", 4, "--classes", "0,1,2")
        self.check_run(2, batch=4, classes="0,1,2", frozen=False)
        self.check_matrix(3)

    def test_text(self):
        self.train("text", "--steps", 3, "--batch", 4)
        self.check_run(3, batch=4, model="lstm")

    def test_adult(self):
        chance = random.Random(5)
        people = []
        for _ in range(400):
            age = chance.randint(17, 90)
            rich = chance.random() < age / 120
            people.append(f"{age}, Private, {chance.randint(10000, 99999)}, Bachelors, 13, Divorced, Sales, Wife, White, Female, 0, 0, 40, "
                          f"Cuba, {'>50K' if rich else '<=50K'}")
        (self.folder / "adult.data").write_text("\n".join(people) + "\n")
        (self.folder / "adult.test").write_text("|1x3 Cross validator\n" + ".\n".join(people[:150]) + ".\n")
        self.train("adult", "--steps", 60, "--batch", 32, "--data-dir", self.folder)
        self.check_run(60, batch=32, hidden_units="64,32")
        self.check_curve(people=150, rich=sum(">50K" in person for person in people[:150]))

    def check_curve(self, people, rich):
        (step, value) = [(step, value) for step, value in values_of(self.model / "eval") if value.tag == "auc_precision_recall/pr_curve"][-1]
        (true, false, rest, missed, precision, recall) = rows_of(value.tensor, "pr_curves", value)
        thresholds = len(true)
        data = plugins_pb2.PrCurvePluginData.FromString(value.metadata.plugin_data.content)
        self.assertEqual((data.version, data.num_thresholds), (0, thresholds))
        self.assertEqual((true[0], false[0], rest[0], missed[0]), (rich, people - rich, 0, 0))
        for i in range(thresholds):
            self.assertEqual(true[i] + missed[i], rich)
            self.assertEqual(false[i] + rest[i], people - rich)
            self.assertAlmostEqual(precision[i], true[i] / (true[i] + false[i]) if true[i] + false[i] else 0, places=6)
            self.assertAlmostEqual(recall[i], true[i] / rich, places=6)
            if i:
                self.assertLessEqual(true[i], true[i - 1])
                self.assertLessEqual(false[i], false[i - 1])
        # At one half the curve is what precision and recall say.
        self.assertAlmostEqual(scalar(self.model / "eval", "recall")[1], recall[50], delta=0.05)
        self.assertAlmostEqual(scalar(self.model / "eval", "precision")[1], precision[50], delta=0.05)
        self.assertEqual(step, scalar(self.model / "eval", "auc")[0])

    def test_housing(self):
        chance = random.Random(6)
        lines = ["longitude,latitude,housing_median_age,total_rooms,total_bedrooms,population,households,median_income,"
                 "median_house_value,ocean_proximity"]
        for _ in range(300):
            income = chance.uniform(1, 9)
            numbers = [-chance.uniform(114, 124), chance.uniform(32, 42), chance.randint(1, 52), chance.randint(100, 5000),
                       chance.randint(50, 900), chance.randint(100, 4000), chance.randint(40, 900), income, round(50000 * income)]
            lines.append(",".join(f"{number:.4f}" for number in numbers) + "," + chance.choice(["INLAND", "NEAR BAY"]))
        (self.folder / "housing.csv").write_text("\n".join(lines) + "\n")
        self.train("housing", "--steps", 20, "--batch", 32, "--data-dir", self.folder)
        self.check_run(20, batch=32, baseline=False)


def skip(why):
    print(why)
    sys.exit(77)


if __name__ == "__main__":
    if not shutil.which("protoc"):
        skip("protoc is not installed (protobuf-compiler): the independent reader cannot run")
    try:
        import google.protobuf  # noqa: F401
    except ImportError:
        skip("python3-protobuf is not installed: the independent reader cannot run")
    PROGRAMS = dict(zip(["mnist", "cifar", "text", "adult", "housing"], sys.argv[1:6]))
    with tempfile.TemporaryDirectory() as schemas:
        (event_pb2, graph_pb2, plugins_pb2) = load_schemas(schemas)
        unittest.main(argv=sys.argv[:1] + sys.argv[6:])
