#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `shoal launch --emit` writes, by the rules of the engines (manifest_rules.py, unit_rules.py): what a task is started with, how
often, how long it has to leave; and what is refused, in how many spellings. Random words go through each engine and come back.
SHOAL_TEST_SHOAL is the program; SHOAL_TEST_SEED repeats a run."""
import json
import math
import os
import pathlib
import random
import re
import shutil
import subprocess
import tempfile
import unittest

import emit_test
import manifest_rules
import unit_rules
from emit_test import HOSTILE, PROGRAM, SECONDS_MAX, SIZE, TASKS, shoal
from manifest_rules import UNLIMITED, Refused

KINDS = (("kubernetes",), ("compose",), ("systemd", "--rendezvous", "board1:4000"), ("slurm",))
RESTARTING = KINDS[:3]
YAML_WORDS = ["yes", "no", "on", "off", "y", "n", "true", "false", "null", "none", "nan", "inf", "e1"]
PIECES = [" ", "  ", "\t", "\n", "\r\n", "\r", '"', "'", "\\", "\\n", "$", "$$", "$(HOME)", "${HOME}", "$SHOAL_RANK", "$(SHOAL_RANK)", "%",
          "%%", "%i", "%n", "#", " #", ";", "\\;", ":", ": ", "-", "--", "---", "=", "é", "雪", "😀", "\u0085", "\u2028", "\ufeff", "\x01",
          "\x1b[0m", "\x7f", "\uffff", "\ufdd0", "\U0010ffff", "\ufffe", "~", "1e3", "0x10", "010", "1_000", ".inf", "2026-01-01", "&a", "*a",
          "!t", "|", ">", "{", "}", "[", "]", ",",
          "?", "`id`", "$(id)", "@name@", "@", "a", "b c", "word", "{{x}}", "<<", "%%%", "EOF", *YAML_WORDS]
FAILURES = (1, 5, 137)
PERMANENT = (2, 3, 4)


class Rules(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="shoal-emit-")
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.folder.chmod(0o755)  # systemd reads it as nobody
        self.seed = int(os.environ.get("SHOAL_TEST_SEED", random.SystemRandom().randrange(10**6)))
        self.numbers = random.Random(self.seed)

    def run_emit(self, kind, *options, command=(*PROGRAM, "x"), name="job"):
        return shoal("launch", *SIZE, *(("--name", name) if name else ()), "--emit", *kind, *options, "--", *command)

    def emit(self, kind, *options, **how):
        emitted = self.run_emit(kind, *options, **how)
        self.assertEqual((emitted.returncode, emitted.stderr), (0, ""), f"seed {self.seed}: {how}")
        return emitted.stdout

    def read(self, kind, manifest):
        """What comes of it for the last rank but one, by the engine's rules."""
        if kind[0] in ("kubernetes", "compose") and not manifest_rules.yaml:
            self.skipTest("there is no python3-yaml")
        if kind[0] == "kubernetes":
            return manifest_rules.kubernetes(manifest)[0]
        if kind[0] == "compose":
            return manifest_rules.compose(manifest)[0]["worker-3"]
        return unit_rules.systemd(manifest, "6")

    def effective(self, kind, *options, **how):
        return self.read(kind, self.emit(kind, *options, **how))

    def expect_refused(self, kind, sentence, *options, **how):
        refused = self.run_emit(kind, *options, **how)
        self.assertEqual((refused.returncode, refused.stdout), (2, ""), (kind, options, how, refused.stderr))
        self.assertRegex(refused.stderr, sentence)
        self.assertEqual(refused.stderr.count("\n"), 1, refused.stderr)
        return refused.stderr

    # --- values

    def test_restarts_are_as_many_as_were_asked_for(self):
        for kind in RESTARTING:
            for restarts in (0, 1, 5, 1_000_000):
                with self.subTest(kind=kind[0], restarts=restarts):
                    one = self.effective(kind, "--max-restarts", str(restarts))
                    self.assertEqual(one.restarts, restarts * (len(TASKS) if kind[0] == "kubernetes" else 1))
                    restarted = kind[0] == "kubernetes" or restarts > 0  # of Kubernetes' pods, backoffLimit counts
                    self.assertEqual({one.after[status] for status in FAILURES}, {"again" if restarted else "failed"})

    def test_slow_restarts_are_counted_too(self):
        for wait in ("0", "0.001", "3600", "100000", "1e9"):
            for restarts in (0, 1, 5, 1_000_000):
                one = self.effective(RESTARTING[2], "--max-restarts", str(restarts), "--restart-secs", wait)
                self.assertEqual(one.restarts, restarts, wait)

    def test_statuses_mean_what_they_mean_to_the_launcher(self):  # CONTRACT FA-9, FA-10
        for kind in RESTARTING:
            with self.subTest(kind=kind[0]):
                one = self.effective(kind)
                self.assertEqual(one.after[0], "done")
                if kind[0] != "compose":  # which cannot tell statuses apart
                    self.assertEqual({one.after[status] for status in PERMANENT}, {"failed"})
                self.assertIn(one.after[143], ("again", "again for nothing"))
        self.assertEqual(self.effective(RESTARTING[2], "--max-restarts", "0").after[143], "again")  # giving way is no failure

    def test_a_task_has_the_time_to_leave_that_was_asked_for(self):
        for kind in RESTARTING:
            for given in ("0", "0.5", "30", "31.2", "3600", "1e9"):
                with self.subTest(kind=kind[0], given=given):
                    one = self.effective(kind, "--stop-secs", given)
                    self.assertEqual(one.stop_seconds, max(30, math.ceil(float(given))))

    def test_names_are_texts(self):
        for kind in RESTARTING:
            for name in YAML_WORDS:
                with self.subTest(kind=kind[0], name=name):
                    one = self.effective(kind, name=name)
                    if kind[0] == "kubernetes":
                        self.assertEqual(one.names, [f"{name}-tasks", f"{name}-model", name])
                    self.assertTrue(all(name in secret for secret in one.secrets.values()), one.secrets)
            self.effective(kind, name=None, command=("/bin/No", *PROGRAM[1:]))  # the program's name is the job's
            self.effective(kind, name="a" * 40)
            self.expect_refused(kind, "--name", name="a" * 41)

    def test_options_without_a_place_are_refused(self):
        for kind, option, value in ((KINDS[0], "--restart-secs", "2"), (KINDS[1], "--restart-secs", "2"), (KINDS[2], "--image", "x"),
                                    (KINDS[3], "--max-restarts", "5"), (KINDS[3], "--restart-secs", "1"), (KINDS[3], "--stop-secs", "60"),
                                    (KINDS[3], "--image", "x"), (KINDS[0], "--rendezvous", "b:1"), (KINDS[3], "--rendezvous", "b:1")):
            self.expect_refused(kind, f"--emit.*{option}|{option}.*--emit", option, value)
        for address in ("b:0", "0.0.0.0:4000", "[::]:4000", "b", "b c:1", "b:1\n"):
            self.expect_refused(("systemd",), "--rendezvous", "--rendezvous", address)

    def test_a_task_is_told_its_place_and_where_its_token_is(self):
        for address in ("board1:4000", "[fe80::1%eth0]:4000", "bo%ard:1", 'b"oard:1', "b'oard:1", "b\\oard:1", "b$HOME:1", "b%i:1", "bé雪:1", "b#;:1"):
            one = self.effective(("systemd",), "--rendezvous", address)
            self.assertEqual(one.environment, {"SHOAL_RANK": "6", "SHOAL_WORLD_SIZE": "8", "SHOAL_PS": "2", "SHOAL_EVALUATOR": "1",
                                               "SHOAL_ON_SIGTERM": "leave", "SHOAL_RENDEZVOUS": address})
            self.assertEqual(one.secrets, {"EnvironmentFile": "/etc/shoal/job.env"})
        one = self.effective(KINDS[1])
        self.assertEqual(one.environment, {"SHOAL_RANK": "6", "SHOAL_WORLD_SIZE": "8", "SHOAL_PS": "2", "SHOAL_EVALUATOR": "1",
                                           "SHOAL_ON_SIGTERM": "leave", "SHOAL_RENDEZVOUS": "chief-0:2222", "SHOAL_HOST": "worker-3",
                                           "SHOAL_TOKEN_FILE": "/run/secrets/token"})
        self.assertEqual(one.secrets, {"/run/secrets/token": "./job-token"})
        one = self.effective(KINDS[0])
        self.assertEqual(one.environment, {"SHOAL_WORLD_SIZE": "8", "SHOAL_SERVICE": "job-tasks", "SHOAL_PS": "2", "SHOAL_EVALUATOR": "1",
                                           "SHOAL_ON_SIGTERM": "leave"})
        self.assertEqual(one.secrets, {"SHOAL_TOKEN": "job-token"})

    def test_images_are_references(self):
        for image in ("a", "a:1", "localhost/a", "host:5000/team/a_b.c:v1.0-x", "docker.io/library/a@sha256:" + "0" * 64, "a:1@sha256:" + "f" * 64):
            for kind in KINDS[:2]:
                self.emit(kind, "--image", image)
        for image in ("A", "a b", "a:", "a:b:c", "/a", "a/", "a//b", "https://host/a", "u:p@host/a", "a@sha256:1", "-a", "a:" + "t" * 129,
                      "a" * 256, "a\n", "$A", "é"):
            for kind in KINDS[:2]:
                self.expect_refused(kind, "--image", "--image", image)

    # --- words

    def random_word(self):
        return "".join(self.numbers.choice(PIECES) for _ in range(self.numbers.randint(1, 6)))

    def random_command(self):
        return [*PROGRAM, *(self.random_word() for _ in range(self.numbers.randint(0, 8))), self.numbers.choice(PIECES)]

    def test_every_word_comes_back(self):
        for kind in RESTARTING:
            for _ in range(30):
                command = self.random_command()
                one = self.effective(kind, command=command)
                self.assertEqual(one.argv, command, f"{kind[0]}, seed {self.seed}")

    def test_long_words_come_back(self):
        command = [*PROGRAM, "x" * 8000, "\u2028" * 3000, "\\" * 4000, "\x01" * 8000]
        for kind in RESTARTING:
            self.assertEqual(self.effective(kind, command=command).argv, command)
        for kind in KINDS:
            self.expect_refused(kind, r"at most 32768", command=[*PROGRAM, "x" * 33000])

    def test_folders_and_programs_come_back_or_are_refused(self):
        taken = 0
        for kind in RESTARTING:
            for _ in range(40):
                command = ["/opt/" + self.random_word(), "--model-dir", "/m" + self.random_word(), "x"]
                ran = self.run_emit(kind, command=command)
                if ran.returncode == 2:
                    self.assertRegex(ran.stderr, "--model-dir|the program's path", f"seed {self.seed}")
                    continue
                one = self.read(kind, ran.stdout)
                self.assertEqual((one.argv, one.writes), (command, [command[2]]), f"{kind[0]}, seed {self.seed}")
                taken += 1
        self.assertGreater(taken, 20)

    def slurm_words(self, command, script):
        """What the script starts by srun's rules: a program that writes down its words stands in the place of the first."""
        (self.folder / ".shoal").mkdir(exist_ok=True)
        (self.folder / ".shoal" / "job-token").write_text("x")
        written, batch, srun = self.folder / "words", self.folder / "job.sbatch", self.folder / "srun"
        written.unlink(missing_ok=True)
        batch.write_bytes(script.encode())
        srun.write_text(unit_rules.SRUN)
        srun.chmod(0o755)
        recorder = pathlib.Path(command[0])
        recorder.write_text(f"#!/bin/sh\nprintf '%s\\0' \"$0\" \"$@\" > '{written}'\n")
        recorder.chmod(0o755)
        ran = subprocess.run(["bash", batch], timeout=SECONDS_MAX, encoding="utf-8", capture_output=True, cwd=self.folder,
                             env={"PATH": f"{self.folder}:/usr/bin:/bin", "HOME": str(self.folder),
                                  "SRUN_OPTIONS": str(self.folder / "options")})
        self.assertEqual((ran.returncode, ran.stderr), (0, ""), f"seed {self.seed}: {command}")
        recorder.unlink()
        return written.read_bytes().decode().split("\0")[:-1]

    def test_every_word_comes_back_from_slurm(self):
        programs = [str(self.folder / name) for name in ("program", "pro gram's", '"$HOME"', "a\nb", "%é#;")]
        for number in range(40):
            command = [programs[number % len(programs)], *self.random_command()[1:], *([":"] if number % 3 == 0 else [])]
            script = self.emit(("slurm",), command=command)
            unit_rules.sbatch(script)
            self.assertEqual(self.slurm_words(command, script), command, f"seed {self.seed}")
        command = [programs[0], *PROGRAM[1:], *HOSTILE]
        self.assertEqual(self.slurm_words(command, self.emit(("slurm",), command=command)), command)

    # --- the engines' own readers, of the same words

    def test_kubectl_reads_the_same(self):
        if not shutil.which("kubectl"):
            self.skipTest("there is no kubectl")
        for name in ["job", *YAML_WORDS[:4]]:
            command = self.random_command()
            file = self.folder / f"{name}.yaml"
            file.write_bytes(self.emit(("kubernetes",), command=command, name=name).encode())
            read = subprocess.run(["kubectl", "set", "env", "--local", "-f", file, "-o", "json", "A=b"], timeout=SECONDS_MAX,
                                  encoding="utf-8", capture_output=True)
            said = [line for line in read.stderr.splitlines() if "decode" in line or "unmarshal" in line]
            self.assertEqual(said, [], f"seed {self.seed}")
            job = json.loads(read.stdout)
            words = job["spec"]["template"]["spec"]["containers"][0]["command"]
            self.assertEqual([manifest_rules.expanded(word, {}) for word in words], command, f"seed {self.seed}")

    def test_docker_reads_the_same(self):
        if not shutil.which("docker"):
            self.skipTest("there is no docker")
        for name in ["job", *YAML_WORDS[:4]]:
            # The engine prints YAML again, and reads line breaks at the ends of a text in another way than PyYAML does.
            command = [re.sub(r"[\n\r\u0085\u2028]", "", word) for word in self.random_command()]
            (self.folder / f"{name}-token").write_text("x")
            file = self.folder / "compose.yaml"
            file.write_bytes(self.emit(("compose",), command=command, name=name).encode())
            read = subprocess.run(["docker", "stack", "config", "-c", file], timeout=SECONDS_MAX, encoding="utf-8", capture_output=True)
            if "is not a docker command" in read.stderr:
                self.skipTest("there is no docker with its stack commands")
            self.assertEqual(read.returncode, 0, read.stderr)
            if manifest_rules.yaml:
                [config] = manifest_rules.documents(read.stdout)
                service = config["services"]["worker-3"]
                self.assertEqual((service["entrypoint"], service["restart"]), (command, "on-failure:5"), f"seed {self.seed}")

    def test_systemd_verifies_random_units(self):
        if not shutil.which("systemd-analyze"):
            self.skipTest("there is no systemd-analyze")
        for number in range(8):
            options = ["--max-restarts", str(number), "--restart-secs", self.numbers.choice(["0", "1", "99999", "1e9"])]
            unit = self.folder / f"shoal-job@{number}.service"
            unit.write_bytes(self.emit(KINDS[2], *options, command=self.random_command()).encode())
            unit.chmod(0o644)
            checked = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], timeout=SECONDS_MAX, text=True, capture_output=True,
                                     env=os.environ | {"SYSTEMD_UNIT_PATH": f"{self.folder}:"})
            said = [line for line in checked.stderr.splitlines() if "shoal-job" in line]
            self.assertEqual((checked.returncode, said), (0, []), f"seed {self.seed}")

    def test_systemd_reads_the_same(self):
        if not pathlib.Path(emit_test.SYSTEMD).exists():
            self.skipTest("there is no systemd")
        for _ in range(4):
            command, unit = self.random_command(), self.folder / "shoal-job@6.service"
            unit.write_bytes(self.emit(KINDS[2], command=command).encode())
            unit.chmod(0o644)
            as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
            environment = {"SYSTEMD_UNIT_PATH": f"{self.folder}:", "HOME": "/", "LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"}
            read = subprocess.run([*as_nobody, emit_test.SYSTEMD, "--test", "--system", f"--unit={unit.name}"], timeout=SECONDS_MAX,
                                  env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.decode("utf-8", "surrogateescape")
            if "-> Unit " not in read:
                self.skipTest("systemd --test does not run here")
            of_unit = read.split(f"-> Unit {unit.name}:", 1)[1].split("-> Unit ", 1)[0]
            lines = re.findall(r"^\s*Command Line: (.*)$", of_unit, re.MULTILINE)
            self.assertEqual([emit_test.Emitted.words_of_systemd(line) for line in lines], [command], f"seed {self.seed}")

    # --- refusals

    def spellings(self, flag, value):
        under = flag.replace("-", "_")
        yield [f"--{flag}", value]
        yield [f"--{flag}={value}"]
        yield ["--param", f"{flag}={value}"]
        yield [f"--param={flag}={value}"]
        yield ["--param", f"{under}={value}"]
        yield [f"--param={under}={value}"]

    def test_flags_that_contradict_the_job_in_every_spelling(self):
        for flag, value in (("rank", "0"), ("world-size", "3"), ("rendezvous", "a:1"), ("source", "local"), ("cluster", "ps:1"), ("ps", "3"),
                            ("replicas", "2"), ("transport", "inproc"), ("token-file", "t"), ("tls-dir", "t"), ("model-dir", "/other")):
            for number, spelling in enumerate(self.spellings(flag, value)):
                for kind in KINDS if number == 0 else [KINDS[number % len(KINDS)]]:
                    self.expect_refused(kind, f"--{flag}", command=[*PROGRAM, *spelling])
        for kind in KINDS:
            self.expect_refused(kind, "--model-dir is given twice", command=[*PROGRAM, *PROGRAM[1:]])
            self.expect_refused(kind, "--evaluator", command=[*PROGRAM, "--evaluator=false"])
            self.expect_refused(kind, "shoal launch itself", command=["/usr/bin/shoal", "launch", *PROGRAM[1:]])
            opposite = "leave" if kind[0] == "slurm" else "end"
            for spelling in self.spellings("on-sigterm", opposite):
                self.expect_refused(kind, "--on-sigterm", command=[*PROGRAM, *spelling])
            agreeing = ["--ps", "2", "--evaluator", "--world-size=8", "--replicas", "1", "--transport", "auto", "--param", "threads=2"]
            self.emit(kind, command=[*PROGRAM, *agreeing])
        for kind in KINDS[:2]:
            self.expect_refused(kind, "--transport shm", command=[*PROGRAM, "--transport", "shm"])
            self.expect_refused(kind, "--bind", command=[*PROGRAM, "--bind", "127.0.0.1"])
            self.expect_refused(kind, "would hide the program", command=["/m/bin/train", "--model-dir", "/m/"])

    def test_the_folder_is_found_in_every_spelling(self):
        for spelling in self.spellings("model-dir", "/models/m"):
            for kind in RESTARTING:
                one = self.effective(kind, command=["/bin/echo", *spelling])
                self.assertEqual((one.writes, one.argv), (["/models/m"], ["/bin/echo", *spelling]))
        for kind in RESTARTING:
            for folder in ("m", "/", "//", "/m/../n", "/m/./n", "~/m", "gs://m", "/m/.."):
                self.expect_refused(kind, "--model-dir", command=["/bin/echo", "--model-dir", folder])
        for word in ("/tmp/m", "/var/tmp/m"):
            self.expect_refused(KINDS[2], "of its own", command=["/bin/echo", "--model-dir", word])
            self.expect_refused(KINDS[2], "of its own", command=[*PROGRAM, f"--data-dir={word}"])
        self.expect_refused(KINDS[2], "a unit runs in the folder /", command=[*PROGRAM, "--param", "data_dir=data"])

    def test_variables_before_the_program(self):
        for kind in KINDS:
            env = lambda *words: ["/usr/bin/env", *words, *PROGRAM]
            one = self.emit(kind, command=env("OMP_NUM_THREADS=2", "A="), name=None)
            self.assertIn("echo-tasks" if kind[0] == "kubernetes" else "echo", one)  # the job is called after the program
            for variable in ("SHOAL_RANK=1", "SHOAL_WORLD_SIZE=2", "SHOAL_PS=1", "SHOAL_EVALUATOR=0", "SHOAL_SOURCE=local", "TF_CONFIG={}",
                             "SHOAL_RENDEZVOUS=a:1", "SHOAL_RUN=a", "SHOAL_HOST=a", "RANK=1", "SHOAL_TOKEN_FILE=/t", "SHOAL_TLS_DIR=/t",
                             "SHOAL_ON_SIGTERM=" + ("leave" if kind[0] == "slurm" else "end")):
                self.expect_refused(kind, variable.split("=")[0], command=env(variable))
            for option in (["-i"], ["-S", "A=b"], ["-"]):
                self.expect_refused(kind, "env -", command=env(*option))
            self.expect_refused(kind, "no program", command=["env", "A=b"])

    def test_a_secret_is_refused_and_not_shown(self):
        token = shoal("keys", "token").stdout.strip()
        other = "hunter2secret"
        for words in ([["env", f"SHOAL_TOKEN={token}", *PROGRAM]], [[*PROGRAM, token]], [[*PROGRAM, f"--note={token}"]],
                      [["sh", "-c", f"SHOAL_TOKEN={token} exec train --model-dir /m", *PROGRAM[1:]]],
                      [["env", f"AWS_SECRET_ACCESS_KEY={other}", *PROGRAM]], [["env", f"DB_PASSWORD={other}", *PROGRAM]],
                      [["env", f"HF_TOKEN={other}", *PROGRAM]], [["env", f"PGPASSWORD={other}", *PROGRAM]],
                      [[*PROGRAM, "--api-key", other]], [[*PROGRAM, f"--api-key={other}"]], [[*PROGRAM, "--param", f"api_key={other}"]],
                      [[*PROGRAM, "--password", other]], [[*PROGRAM, f"--url=https://me:{other}@host/x"]], [[*PROGRAM, f"--auth-token={other}"]],
                      [[*PROGRAM, f"-----BEGIN PRIVATE KEY-----\n{other}"]]):
            for command in words:
                for kind in KINDS:
                    if kind[0] == "systemd":
                        command = ["/bin/" + command[0].split("/")[-1], *command[1:]]
                    said = self.expect_refused(kind, "secret|SHOAL_TOKEN", command=command)
                    self.assertNotIn(token, said)
                    self.assertNotIn(other, said)
        for harmless in (["--pad-token", "x"], ["--tokens", "5"], ["--sort-key=a"], ["--token-count=3"], ["--password="], ["--secret=$FROM_ENV"],
                         ["https://host/a@b:c"], ["--tokenizer", "bpe"]):
            for kind in KINDS:
                self.emit(kind, command=[*PROGRAM, *harmless])

    # --- the rules are some

    def broken(self, kind, found, instead):
        manifest = self.emit(kind)
        self.assertIn(found, manifest)
        return self.read(kind, manifest.replace(found, instead))

    def test_the_rules_find_what_was_wrong(self):
        self.assertIs(self.broken(KINDS[1], "on-failure:5", "on-failure:0").restarts, UNLIMITED)
        self.assertIs(self.broken(KINDS[2], "TimeoutStopSec=60", "TimeoutStopSec=0").stop_seconds, UNLIMITED)
        self.assertIs(self.broken(KINDS[2], "StartLimitBurst=6", "StartLimitBurst=0").restarts, UNLIMITED)
        self.assertIs(self.broken(KINDS[2], "StartLimitIntervalSec=1d", "StartLimitIntervalSec=0").restarts, UNLIMITED)
        self.assertIs(self.broken(KINDS[2], "RestartSec=1000ms", "RestartSec=1d").restarts, UNLIMITED)
        for kind, found, instead in ((KINDS[0], 'name: "job"', "name: no"), (KINDS[0], 'value: "2"', "value: 2"),
                                     (KINDS[0], "backoffLimit: 40", "backoffLimit: -1"),
                                     (KINDS[0], "values: [2, 3, 4]", "values: [0, 2]"),
                                     (KINDS[0], "restartPolicy: Never", "restartPolicy: Always"),
                                     (KINDS[0], "terminationGracePeriodSeconds: 60", "terminationGracePeriodSeconds: 60s"),
                                     (KINDS[0], "completions: 8", "completions: 8\n  completions: 8"), (KINDS[0], "command:", "commands:"),
                                     (KINDS[1], '"on-failure:5"', "no"), (KINDS[1], "60s\n", "60\n"), (KINDS[1], '"x"]', '"$X"]'),
                                     (KINDS[2], '"x"\n', '"%x"\n'), (KINDS[2], '":/bin', '"/tmp'), (KINDS[2], '"x"\n', '"x" ; id\n')):
            with self.subTest(found=found, instead=instead), self.assertRaises(Refused):
                self.broken(kind, found, instead)
        for script in ("echo", "#!/bin/sh\necho '\r\n'\n"):
            with self.assertRaises(Refused):
                unit_rules.sbatch(script)


if __name__ == "__main__":
    unittest.main(verbosity=2)
