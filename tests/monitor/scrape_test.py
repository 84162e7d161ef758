#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What monitoring systems get from programs: Python's HTTP and TLS, and Prometheus' own promtool, ask tasks that train.

usage: scrape_test.py PROGRAM SHOAL TLS CASES...

PROGRAM: the example mnist; SHOAL: the program shoal; TLS: 1 if the build has it; CASES: classes of this file. Status 77: all were skipped.
"""
import contextlib
import http.client
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest

PROGRAM, SHOAL, TLS = sys.argv[1], sys.argv[2], sys.argv[3] == "1"
PATIENCE = 120
SAMPLE = re.compile(r'^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*",?)*\})? (NaN|[+-]Inf|-?[0-9.e+-]+)$')


class Task:
    """A program that runs until the test is over; what it writes is kept."""

    def __init__(self, words, **variables):
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("SHOAL_", "TF_CONFIG"))}
        self.process = subprocess.Popen(words, env={**environment, **variables}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        text=True, errors="replace")
        self.lines = []
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.append(line)

    @property
    def text(self):
        return "".join(self.lines)

    def find(self, pattern):
        """The match of what it has written, as soon as it has."""
        for _ in range(PATIENCE * 10):
            found = re.search(pattern, self.text)
            if found:
                return found
            if self.process.poll() is not None and not self.reader.is_alive():
                break
            time.sleep(0.1)
        raise AssertionError(f"never wrote {pattern}:\n{self.text}")

    def port(self):
        return int(self.find(r"https?://[0-9.]+:(\d+)/metrics")[1])

    def status(self):
        status = self.process.wait(PATIENCE)
        self.reader.join(PATIENCE)
        return status

    def end(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.reader.join()
        self.process.stdout.close()


def ask(connection, page="/metrics", method="GET", bearer=None):
    """(status, fields, text)."""
    connection.request(method, page, headers={"Authorization": f"Bearer {bearer}"} if bearer else {})
    answer = connection.getresponse()
    return answer.status, dict(answer.getheaders()), answer.read().decode()


def ask_once(port, page="/metrics"):
    """The same of this machine, over a connection of its own."""
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=20)) as connection:
        return ask(connection, page)


def samples(page):
    """{"name{labels}": value} of a page that is checked line by line."""
    types, found = {}, {}
    for line in page.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name not in types, line
            types[name] = kind
        elif not line.startswith("# HELP "):
            match = SAMPLE.match(line)
            assert match, line
            family = match[1] if match[1] in types else re.sub(r"_(bucket|sum|count)$", "", match[1])
            assert family in types, line
            assert (types[family] == "counter") == family.endswith("_total"), line
            assert match[1] + (match[2] or "") not in found, line
            found[match[1] + (match[2] or "")] = float(match[3])
    assert page.endswith("\n")
    return found


def labels(task, more=""):
    role, _, index = task.partition(" ")
    return f'{{task="{task}",role="{role}",index="{index or 0}"{more}}}'


def first_free_port(count):
    """The first of so many ports in a row that nobody has; they are lower than those that the system gives away."""
    for first in random.sample(range(10000, 30000), 1000):
        with contextlib.ExitStack() as held:
            try:
                for port in range(first, first + count):
                    held.enter_context(socket.create_server(("127.0.0.1", port)))
            except OSError:
                continue
            return first
    raise AssertionError("no ports are free")


class Programs(unittest.TestCase):
    """Starts programs in a folder of the test's own."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="shoal-scrape-"))
        self.addCleanup(shutil.rmtree, self.folder, True)

    def start(self, *words, **variables):
        task = Task([str(word) for word in words], **variables)
        self.addCleanup(task.end)
        return task

    def train(self, *words, **variables):
        return self.start(PROGRAM, "--model", "mlp", "--steps", "1000000", "--model-dir", self.folder / "m", *words, **variables)

    def settled(self, port, condition):
        """The samples, once `condition` holds of them."""
        for _ in range(PATIENCE * 5):
            status, _, page = ask_once(port)
            self.assertEqual(status, 200)
            found = samples(page)
            if condition(found):
                return found, page
            time.sleep(0.2)
        self.fail(f"not so after {PATIENCE} s:\n{page}")


class Scrapes(Programs):
    def test_a_local_run_tells_of_its_training(self):
        task = self.train("--metrics", "0", "--save-checkpoints-steps", "20", "--throttle-secs", "0")
        port = task.port()
        local = labels("local")
        found, page = self.settled(port, lambda now: now.get("shoal_evaluation_step" + local, 0) > 0)
        self.assertGreaterEqual(found["shoal_global_step" + local], 20)
        self.assertGreaterEqual(found["shoal_checkpoint_step" + local], 20)
        self.assertEqual(found["shoal_steps_total" + local], found["shoal_step_duration_seconds_count" + local])
        self.assertEqual(found["shoal_steps_total" + local], found["shoal_global_step" + local])
        self.assertGreater(found["shoal_examples_total" + local], found["shoal_steps_total" + local])
        self.assertGreater(found["shoal_checkpoint_duration_seconds_sum" + local], 0)
        self.assertLess(abs(time.time() - found["shoal_checkpoint_timestamp_seconds" + local]), 600)
        self.assertLess(abs(time.time() - found["process_start_time_seconds"]), 600)
        accuracy = found["shoal_evaluation" + labels("local", ',metric="accuracy"')]
        self.assertTrue(0 <= accuracy <= 1, accuracy)
        status, _, health = ask_once(port, "/healthz")
        self.assertEqual(status, 200)
        self.assertRegex(health, r"^ok\nlocal: (training|saving|evaluating), global step \d+\n$")

    def test_tasks_of_one_process_have_one_endpoint(self):
        task = self.train("--metrics", "0", "--cluster", "ps:1,worker:1")
        server = labels("ps 0")
        found, _ = self.settled(task.port(), lambda now: now.get("shoal_updates_applied_total" + server, 0) > 20
                                and now.get("shoal_steps_total" + labels("worker 0"), 0) > 0)
        self.assertEqual(found["shoal_peers_connected" + server], 2)
        self.assertEqual(found["shoal_peers_connected" + labels("chief 0")], 1)
        self.assertEqual(found["shoal_staleness_steps_count" + server], found["shoal_updates_applied_total" + server])
        self.assertGreater(found["shoal_wire_bytes_total" + labels("worker 0", ',direction="sent"')], 0)
        self.assertEqual(found["shoal_up" + labels("worker 0")], 1)

    def test_launched_tasks_take_one_port_each(self):
        port = first_free_port(3)
        job = self.start(SHOAL, "launch", "--ps", "1", "--workers", "1", "--no-logs", "--", PROGRAM, "--model", "mlp", "--steps", "1000000",
                         "--model-dir", self.folder / "m", "--metrics", port)
        job.find(rf"metrics: chief 0 at 127.0.0.1:{port}, and each further task one port above, up to worker 0 at 127.0.0.1:{port + 2}")
        for offset, name in enumerate(("chief 0", "ps 0", "worker 0")):
            job.find(rf"http://127.0.0.1:{port + offset}/metrics")
            self.settled(port + offset, lambda now, name=name: now.get("shoal_global_step" + labels(name), 0) > 0)
        job.process.send_signal(signal.SIGINT)
        self.assertEqual(job.status(), 0, job.text)

    def test_a_port_that_is_taken_is_an_error_before_training(self):
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            port = other.getsockname()[1]
            task = self.train("--metrics", port)
            self.assertEqual(task.status(), 1, task.text)
            self.assertIn(f"metrics 127.0.0.1:{port}: cannot listen there", task.text)
            self.assertFalse((self.folder / "m").exists())

    def test_wrong_addresses_are_refused(self):
        for wrong in ("x", "host:1", "70000", "127.0.0.1"):
            task = self.train("--metrics", wrong)
            self.assertEqual(task.status(), 2, task.text)
            self.assertIn("write a port, as 9400", task.text)
        task = self.train(SHOAL_METRICS="nonsense")
        self.assertEqual(task.status(), 2, task.text)

    def test_beyond_this_machine_a_credential_is_needed(self):
        for words in ((), ("--insecure",)):
            task = self.train("--metrics", "0.0.0.0:0", *words)
            self.assertEqual(task.status(), 2, task.text)
            self.assertIn("is beyond this machine", task.text)
            self.assertFalse((self.folder / "m").exists())

    def test_a_head_that_does_not_end_is_given_up(self):
        port = self.train("--metrics", "0").port()
        with socket.create_connection(("127.0.0.1", port)) as slow:
            slow.settimeout(1)
            begun = time.monotonic()
            ended = False
            while not ended and time.monotonic() < begun + 60:
                try:
                    slow.sendall(b"G" if time.monotonic() == begun else b"X")
                    ended = slow.recv(1000) == b""
                except TimeoutError:
                    continue
                except OSError:
                    ended = True
            self.assertTrue(ended)
            self.assertTrue(8 < time.monotonic() - begun < 40, time.monotonic() - begun)


class Promtool(Programs):
    def setUp(self):
        if not shutil.which("promtool"):
            self.skipTest("there is no promtool")
        super().setUp()

    def test_finds_nothing_wrong(self):
        task = self.train("--metrics", "0", "--cluster", "ps:1,worker:1,evaluator", "--save-checkpoints-steps", "20", "--throttle-secs", "0")
        evaluated = "shoal_evaluation_step" + labels("evaluator 0")
        _, page = self.settled(task.port(), lambda now: now.get(evaluated, 0) > 0)
        checked = subprocess.run(["promtool", "check", "metrics"], input=page, capture_output=True, text=True, check=False)
        self.assertEqual((checked.returncode, checked.stdout + checked.stderr), (0, ""))

    def test_takes_the_configuration_of_the_page(self):
        page = pathlib.Path(__file__).parents[2] / "docs" / "how-to" / "monitoring.md"
        blocks = re.findall(r"```yaml\n(.*?)```", page.read_text(), re.DOTALL)
        configuration = next(block for block in blocks if block.startswith("scrape_configs"))
        rules = next(block for block in blocks if block.startswith("groups"))
        for name in ("metrics.secret", "metrics.pem", "watcher/ca.pem", "watcher/watcher.pem", "watcher/watcher.key"):
            file = self.folder / name
            file.parent.mkdir(exist_ok=True)
            file.write_text("")
        for command, text in (("config", configuration), ("rules", rules)):
            file = self.folder / f"{command}.yml"
            file.write_text(text)
            options = ["--syntax-only"] if command == "config" else []
            checked = subprocess.run(["promtool", "check", command, *options, file], capture_output=True, text=True, check=False)
            self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)


class Secrets(Programs):
    def setUp(self):
        super().setUp()
        if not TLS:
            self.skipTest("this build has no TLS")

    def keys(self, *words):
        return subprocess.run([SHOAL, "keys", *map(str, words)], check=True, capture_output=True, text=True).stdout

    def connection(self, port, context):
        """Checks the certificate for the name that all endpoints have, whatever the machine is called."""
        plain = socket.create_connection(("127.0.0.1", port), timeout=20)
        made = http.client.HTTPConnection("127.0.0.1", port)
        made.sock = context.wrap_socket(plain, server_hostname="shoal-metrics")
        self.addCleanup(made.close)
        return made

    def test_with_a_token_every_request_brings_its_secret(self):
        file = self.folder / "token"
        self.keys("token", "--out", file)
        token = file.read_text().strip()
        secret = self.keys("metrics", "--token-file", file).strip()
        context = ssl.create_default_context(cadata=self.keys("metrics", "--token-file", file, "--certificate"))
        task = self.train("--metrics", "0.0.0.0:0", "--token-file", file)
        port = task.port()
        heard = ""
        for page in ("/metrics", "/healthz", "/none"):
            for bearer in (None, token, secret[:-1], secret + "x"):
                status, fields, text = ask(self.connection(port, context), page, bearer=bearer)
                self.assertEqual((status, text), (401, "401 Unauthorized\n"))
                heard += json.dumps(fields) + text
        connection = self.connection(port, context)
        for page in ("/metrics", "/healthz", "/metrics"):
            status, fields, text = ask(connection, page, bearer=secret)
            self.assertEqual(status, 200)
            heard += json.dumps(fields) + text
        with socket.create_connection(("127.0.0.1", port), timeout=20) as plain:
            plain.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
            answer = plain.recv(65536)
        self.assertNotIn(b"shoal_", answer)
        self.assertNotIn(b"HTTP/1.1 200", answer)
        other = ssl.create_default_context(cadata=self.keys("metrics", "--token-file", self.other_token(), "--certificate"))
        with self.assertRaises(ssl.SSLCertVerificationError):
            self.connection(port, other)
        for where in (heard, task.text):
            for what in (token, token[7:23], secret):
                self.assertNotIn(what, where)

    def test_older_tls_is_refused(self):
        file = self.folder / "token"
        self.keys("token", "--out", file)
        port = self.train("--metrics", "0.0.0.0:0", "--token-file", file).port()
        context = ssl.create_default_context(cadata=self.keys("metrics", "--token-file", file, "--certificate"))
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        with self.assertRaisesRegex(ssl.SSLError, "(?i)alert protocol version"):
            self.connection(port, context)

    def test_an_address_of_another_machine_is_an_error_before_training(self):
        file = self.folder / "token"
        self.keys("token", "--out", file)
        task = self.train("--metrics", "192.0.2.1:0", "--token-file", file)  # RFC 5737: nobody has it.
        self.assertEqual(task.status(), 1, task.text)
        self.assertIn("metrics 192.0.2.1:0: cannot listen there", task.text)
        self.assertFalse((self.folder / "m").exists())

    def other_token(self):
        self.keys("token", "--out", self.folder / "other")
        return self.folder / "other"

    def test_with_certificates_whoever_asks_has_one(self):
        self.keys("ca", "--out", self.folder / "ca")
        self.keys("ca", "--out", self.folder / "other-ca")
        for folder, authority, role in (("task", "ca", "chief"), ("other-task", "ca", "worker")):
            self.keys("task", "--ca", self.folder / authority, "--role", role, "--index", 0, "--out", self.folder / folder)
        for folder, authority in (("watcher", "ca"), ("stranger", "other-ca")):
            self.keys("watcher", "--ca", self.folder / authority, "--out", self.folder / folder)

        def context(own):
            made = ssl.create_default_context(cafile=self.folder / "ca" / "ca.pem")
            if own:
                name = "task" if own.endswith("task") else "watcher"
                made.load_cert_chain(self.folder / own / f"{name}.pem", self.folder / own / f"{name}.key")
            return made

        port = self.train("--metrics", "0.0.0.0:0", "--tls-dir", self.folder / "task").port()
        for own in ("watcher", "other-task"):
            self.assertEqual(ask(self.connection(port, context(own)))[0], 200)
        for own in (None, "stranger"):
            with self.assertRaises((ssl.SSLError, ConnectionError, http.client.BadStatusLine)):
                ask(self.connection(port, context(own)))


if __name__ == "__main__":
    run = unittest.main(argv=[sys.argv[0], *sys.argv[4:]], exit=False, verbosity=2).result
    if not run.wasSuccessful():
        sys.exit(1)
    sys.exit(77 if len(run.skipped) == run.testsRun else 0)
