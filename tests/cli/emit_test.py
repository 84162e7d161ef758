#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `shoal launch --emit` writes, as those read it whom it is for: PyYAML, systemd, bash, docker-compose, kubernetes-models.
Their independent readings have to give back the program's words, and an environment from which Shoal's own resolvers find every
task's place. Whoever is missing here is skipped with a word. SHOAL_TEST_SHOAL is the program."""
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest

try:
    import yaml
except ImportError:
    yaml = None

SECONDS_MAX = 60 * int(os.environ.get("SHOAL_TEST_TIMEOUT_SCALE") or 1)
SHOAL = shlex.split(os.environ["SHOAL_TEST_SHOAL"])
SYSTEMD = "/lib/systemd/systemd"
SIZE = ["--ps", "2", "--workers", "4", "--evaluator"]
TASKS = ["chief 0", "ps 0", "ps 1", "worker 0", "worker 1", "worker 2", "worker 3", "evaluator 0"]  # in the order of ranks
PROGRAM = ["/bin/echo", "--model-dir", "/models/m m"]
HOSTILE = ["", " ", "two words", "it's", 'say "so"', "$HOME", "$(HOSTNAME)", "$$(X) $", "${SHOAL_RANK}", "`id`", "$(id)",
           "back\\slash", "end\\", "\\n", "line\nbreak\n", "tab\t", "\r\n", "-n", "--", "---", "...", "- item", "key: value",
           "#comment", " # comment", "%i %% %h %", "@name@", "@", "{{x}}", "ünïcödé 雪 😀", "\u0085 \u2028 \u2029 \ufeff",
           "\x1b[31m\x7f\x01", "!tag", "&anchor", "*alias", "~", "null", "yes", "0x10", "1e3", ";", "\\;", "; id", "*", "'", "'''",
           "|", ">", "%YAML 1.2", "a=b", "--model=x y", "EOF", "<<: *task", "[]", "{}", ",", ":", "?"]
TOKEN = re.compile(r"shoal1-")


def shoal(*arguments, environment=None):
    """Runs it without what this test itself may have been started by."""
    leave_out = re.compile(r"TF_CONFIG|SHOAL_(?!TEST_)\w+|(SLURM|OMPI|PMI|PMIX|PET|JAX|DMLC|TORCHELASTIC)_\w+|RANK|WORLD_SIZE|"
                           r"MASTER_(ADDR|PORT)|LOCAL_(RANK|WORLD_SIZE)|JOB_COMPLETION_INDEX")
    whole = {name: value for name, value in os.environ.items() if not leave_out.fullmatch(name)} | (environment or {})
    ran = subprocess.run(SHOAL + [*arguments], env=whole, timeout=SECONDS_MAX, capture_output=True)
    ran.stdout, ran.stderr = ran.stdout.decode(), ran.stderr.decode()  # line ends as they are
    return ran


def text_of(file):
    return pathlib.Path(file).read_bytes().decode()


def kubernetes_expansion(text):
    """What the kubelet makes of a word of a command whose variables are not set (k8s.io/kubernetes third_party/forked/golang/
    expansion): $$ is $, $(NAME) a variable."""
    return re.sub(r"\$(\$|\([^)]*\))", lambda found: "$" if found[1] == "$" else found[0], text)


def compose_interpolation(text):
    if re.search(r"(?<!\$)(\$\$)*\$(?!\$)", text):
        raise AssertionError(f"{text!r} has a variable")
    return text.replace("$$", "$")


class Emitted(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self._temporary = tempfile.TemporaryDirectory(prefix="shoal-emit-")
        self.addCleanup(self._temporary.cleanup)
        self.folder = pathlib.Path(self._temporary.name)
        self.folder.chmod(0o755)  # systemd reads it as nobody

    def emit(self, kind, *options, command=(*PROGRAM, *HOSTILE), environment=None):
        emitted = shoal("launch", *SIZE, "--name", "job", "--emit", kind, *options, "--", *command, environment=environment)
        self.assertEqual((emitted.returncode, emitted.stderr), (0, ""))
        return emitted.stdout

    def emit_units(self):
        return self.emit("systemd", "--rendezvous", "board1:4000")

    def documents(self, kind, *options):
        if not yaml:
            self.skipTest("there is no python3-yaml")
        return list(yaml.safe_load_all(self.emit(kind, *options)))

    def expect_places(self, source, environments, rendezvous):
        """That `shoal config` finds every rank's task by its environment."""
        for rank, environment in enumerate(environments):
            config = shoal("config", environment=environment)
            self.assertEqual(config.returncode, 0, config.stderr)
            said = json.loads(config.stdout)
            place = (said["source"], said["rank"], said["size"], f"{said['task_type']} {said['task_id']}", said["rendezvous"])
            self.assertEqual(place, (source, rank, len(TASKS), TASKS[rank], rendezvous))
            self.assertEqual(said["warnings"], [])

    # --- Kubernetes

    def test_kubernetes_gives_back_every_word(self):
        service, claim, job = self.documents("kubernetes", "--image", "host:5000/a:1")
        self.assertEqual([each["kind"] for each in (service, claim, job)], ["Service", "PersistentVolumeClaim", "Job"])
        pod = job["spec"]["template"]["spec"]
        [container] = pod["containers"]
        self.assertEqual([kubernetes_expansion(word) for word in container["command"]], [*PROGRAM, *HOSTILE])
        self.assertEqual(container["image"], "host:5000/a:1")
        self.assertEqual((job["spec"]["completionMode"], job["spec"]["completions"], job["spec"]["parallelism"]), ("Indexed", 8, 8))
        self.assertEqual(pod["subdomain"], service["metadata"]["name"])
        self.assertEqual(service["spec"], {"clusterIP": "None", "publishNotReadyAddresses": True, "selector": {"job-name": "job"}})
        [mount], [volume] = container["volumeMounts"], pod["volumes"]
        self.assertEqual((mount["name"], mount["mountPath"]), (volume["name"], PROGRAM[2]))
        self.assertEqual(volume["persistentVolumeClaim"]["claimName"], claim["metadata"]["name"])

    def test_kubernetes_restarts_by_the_launchers_rules_and_asks_shoal_status(self):
        job = self.documents("kubernetes", "--max-restarts", "3")[2]["spec"]
        self.assertEqual(job["backoffLimit"], 3 * len(TASKS))
        self.assertEqual(job["template"]["spec"]["restartPolicy"], "Never")  # as podFailurePolicy wants it
        drained, gave_way, permanent = job["podFailurePolicy"]["rules"]
        self.assertEqual((drained["action"], drained["onPodConditions"][0]["type"]), ("Ignore", "DisruptionTarget"))
        self.assertEqual((gave_way["action"], gave_way["onExitCodes"]["values"]), ("Ignore", [143]))
        self.assertEqual((permanent["action"], permanent["onExitCodes"]["values"]), ("FailJob", [2, 3, 4]))
        [container] = job["template"]["spec"]["containers"]
        for rule in (gave_way, permanent):
            self.assertEqual(rule["onExitCodes"]["containerName"], container["name"])
        self.assertEqual(container["livenessProbe"]["exec"]["command"], ["shoal", "status", "--live"])
        self.assertEqual(container["readinessProbe"]["exec"]["command"], ["shoal", "status", "--ready"])

    def test_kubernetes_environment_is_what_the_resolver_reads(self):
        [container] = self.documents("kubernetes")[2]["spec"]["template"]["spec"]["containers"]
        variables = {each["name"]: each.get("value") for each in container["env"]}
        self.assertEqual({name for name, value in variables.items() if value is None}, {"SHOAL_RUN", "SHOAL_TOKEN"})
        secret = next(each for each in container["env"] if each["name"] == "SHOAL_TOKEN")["valueFrom"]
        self.assertEqual(secret, {"secretKeyRef": {"name": "job-token", "key": "token"}})
        given = {name: value for name, value in variables.items() if value is not None} | {"SHOAL_RUN": "a-uid"}
        self.expect_places("indexed-job", [given | {"JOB_COMPLETION_INDEX": str(rank), "HOSTNAME": f"job-{rank}"}
                                           for rank in range(len(TASKS))], ["job-0.job-tasks:2222"])

    def test_kubernetes_models_validate_it(self):
        modules = os.environ.get("SHOAL_NODE_MODULES", "")
        if not shutil.which("node") or not (pathlib.Path(modules) / "kubernetes-models").is_dir():
            self.skipTest("SHOAL_NODE_MODULES names no folder with kubernetes-models")  # npm install kubernetes-models
        script = """
            const {Service, PersistentVolumeClaim} = require(process.argv[1] + '/kubernetes-models/v1');
            const {Job} = require(process.argv[1] + '/kubernetes-models/batch/v1');
            for (const object of JSON.parse(require('fs').readFileSync(0))) {
              new {Service, PersistentVolumeClaim, Job}[object.kind](object).validate();
            }"""
        documents = self.documents("kubernetes")
        validate = lambda objects: subprocess.run(["node", "-e", script, modules], input=json.dumps(objects), text=True,
                                                  timeout=SECONDS_MAX, capture_output=True)
        checked = validate(documents)
        self.assertEqual(checked.returncode, 0, checked.stderr)
        documents[2]["spec"]["template"]["spec"]["containers"][0]["command"] = "one string"
        self.assertNotEqual(validate(documents).returncode, 0)  # the check is one

    # --- compose

    def test_compose_gives_back_every_word_and_place(self):
        [compose] = self.documents("compose")
        self.assertEqual(list(compose["services"]), [task.replace(" ", "-") for task in TASKS])
        for service in compose["services"].values():
            self.assertEqual([compose_interpolation(word) for word in service["entrypoint"]], [*PROGRAM, *HOSTILE])
            self.assertEqual(service["healthcheck"]["test"], ["CMD", "shoal", "status", "--ready"])
            self.assertEqual(service["restart"], "on-failure:5")
            self.assertEqual(service["secrets"], ["token"])
        environments = [service["environment"] for service in compose["services"].values()]
        self.assertEqual([each["SHOAL_HOST"] for each in environments], list(compose["services"]))
        self.assertEqual({each["SHOAL_TOKEN_FILE"] for each in environments}, {"/run/secrets/token"})
        self.assertEqual(compose["secrets"], {"token": {"file": "./job-token"}})
        self.expect_places("option", environments, ["chief-0:2222"])

    def test_docker_compose_reads_the_same(self):
        if not shutil.which("docker-compose"):
            self.skipTest("there is no docker-compose")
        (self.folder / "job-token").write_text("x")
        file = self.folder / "job-compose.yaml"
        file.write_bytes(self.emit("compose").encode())
        read = subprocess.run(["docker-compose", "-f", file, "config"], timeout=SECONDS_MAX, encoding="utf-8", capture_output=True)
        self.assertEqual(read.returncode, 0, read.stderr)
        worker = yaml.safe_load(read.stdout)["services"]["worker-1"]
        self.assertEqual([compose_interpolation(word) for word in worker["entrypoint"]], [*PROGRAM, *HOSTILE])
        self.assertEqual(worker["environment"]["SHOAL_RANK"], "4")
        self.assertEqual(worker["volumes"][0]["target"], PROGRAM[2])

    # --- systemd

    def unit_file(self, text, rank):
        file = self.folder / f"shoal-job@{rank}.service"
        file.write_bytes(text.encode())
        file.chmod(0o644)
        return file

    def test_systemd_verifies_the_unit(self):
        if not shutil.which("systemd-analyze"):
            self.skipTest("there is no systemd-analyze")
        unit = self.unit_file(self.emit_units(), 3)
        verify = lambda: subprocess.run(["systemd-analyze", "verify", "--man=no", unit], timeout=SECONDS_MAX, text=True,
                                        capture_output=True, env=os.environ | {"SYSTEMD_UNIT_PATH": f"{self.folder}:"})
        checked = verify()
        said = [line for line in checked.stderr.splitlines() if "shoal-job" in line]
        self.assertEqual((checked.returncode, said), (0, []))
        unit.write_text(unit.read_text().replace("ExecStart=", "ExecStrat="))
        self.assertNotEqual(verify().returncode, 0)  # the check is one

    def test_systemd_gives_back_every_word_and_place(self):
        if not pathlib.Path(SYSTEMD).exists():
            self.skipTest("there is no systemd")
        text = self.emit_units()
        environments = []
        for rank in range(len(TASKS)):
            unit = self.unit_file(text, rank)
            as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
            environment = {"SYSTEMD_UNIT_PATH": f"{self.folder}:", "HOME": "/", "LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"}
            read = subprocess.run([*as_nobody, SYSTEMD, "--test", "--system", f"--unit={unit.name}"], timeout=SECONDS_MAX,
                                  env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            read = read.stdout.decode("utf-8", "surrogateescape")
            if "-> Unit " not in read:
                self.skipTest("systemd --test does not run here")
            unit = read.split(f"-> Unit {unit.name}:", 1)[1].split("-> Unit ", 1)[0]
            said = dict(re.findall(r"^\s*(Restart|RestartSec|KillMode|TimeoutStopSec|RestartPreventExitStatus): (.*)$", unit,
                                   re.MULTILINE))
            self.assertEqual((said["Restart"], said["RestartSec"], said["KillMode"]), ("on-failure", "1s", "mixed"))
            environments.append(dict(line.split("=", 1) for line in re.findall(r"^\s*Environment: (.*)$", unit, re.MULTILINE)))
            [command] = re.findall(r"^\s*Command Line: (.*)$", unit, re.MULTILINE)
            self.assertEqual(self.words_of_systemd(command), [*PROGRAM, *HOSTILE])
        self.expect_places("option", environments, ["board1:4000"])

    @staticmethod
    def words_of_systemd(line):
        """As it writes them: words in quotes, with escapes as C has them."""
        words = []
        escapes = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}

        def unescaped(found):
            body = found[1]
            return bytes([int(body, 8)]) if body.isdigit() else escapes.get(body, body)

        for found in re.finditer(r'"((?:[^"\\]|\\.)*)"|(\S+)', line, re.ASCII):
            word = (found[1] if found[1] is not None else found[2]).encode("utf-8", "surrogateescape")
            words.append(re.sub(rb"\\([0-7]{3}|.)", unescaped, word).decode("utf-8", "surrogateescape") if found[1] is not None else found[2])
        return words

    def test_systemd_restarts_by_the_launchers_rules(self):
        lines = self.emit("systemd", "--rendezvous", "b:1", "--max-restarts", "2", "--restart-secs", "0.5").splitlines()
        for line in ("RestartPreventExitStatus=2 3 4", "SuccessExitStatus=143", "RestartForceExitStatus=143", "StartLimitBurst=3", "RestartSec=500ms", "EnvironmentFile=/etc/shoal/job.env"):
            self.assertIn(line, lines)

    # --- what a SIGTERM means

    def test_who_starts_a_task_again_asks_it_to_give_way(self):  # CONTRACT FA-12
        [container] = self.documents("kubernetes")[2]["spec"]["template"]["spec"]["containers"]
        self.assertIn({"name": "SHOAL_ON_SIGTERM", "value": "leave"}, container["env"])
        [compose] = self.documents("compose")
        for service in compose["services"].values():
            self.assertEqual(service["environment"]["SHOAL_ON_SIGTERM"], "leave")
        self.assertIn("Environment=SHOAL_ON_SIGTERM=leave", self.emit_units().splitlines())
        self.assertRegex(self.emit("slurm"), r"(?m)^export SHOAL_ON_SIGTERM=end\b")  # it starts no task again

    def test_there_is_time_to_give_way(self):
        for given, seconds in (("5", 30), ("30", 30), ("45", 45)):
            job = self.documents("kubernetes", "--stop-secs", given)[2]
            self.assertEqual(job["spec"]["template"]["spec"]["terminationGracePeriodSeconds"], seconds)
            [compose] = self.documents("compose", "--stop-secs", given)
            self.assertEqual({service["stop_grace_period"] for service in compose["services"].values()}, {f"{seconds}s"})
            unit = self.emit("systemd", "--rendezvous", "b:1", "--stop-secs", given).splitlines()
            self.assertIn(f"TimeoutStopSec={seconds}", unit)

    # --- Slurm

    def run_script(self, text, **variables):
        """The batch script with an srun that writes down its words and its environment."""
        script = self.folder / "job.sbatch"
        script.write_bytes(text.encode())
        srun = self.folder / "srun"
        srun.write_text(f"#!/bin/sh\nprintf '%s\\0' \"$@\" > {self.folder}/words\nenv -0 > {self.folder}/environment\n")
        srun.chmod(0o755)
        return subprocess.run(["bash", script], timeout=SECONDS_MAX, encoding="utf-8", capture_output=True,
                              env={"PATH": f"{self.folder}:/usr/bin:/bin", "HOME": str(self.folder)} | variables)

    def test_slurm_gives_back_every_word_and_place(self):
        hostile = [word for word in HOSTILE if word != ":"]  # which srun takes for its own: emit_rules_test.py
        text = self.emit("slurm", command=(*PROGRAM, *hostile))
        self.assertEqual(self.run_script(text).returncode, 2)  # there is no token yet
        (self.folder / ".shoal").mkdir()
        (self.folder / ".shoal" / "job-token").write_text("x")
        ran = self.run_script(text)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        words = text_of(self.folder / "words").split("\0")[:-1]
        self.assertEqual(words[words.index(PROGRAM[0]):], [*PROGRAM, *hostile])
        self.assertEqual(words[:words.index(PROGRAM[0])], ["--label", "--kill-on-bad-exit=1", "--wait=0"])
        given = dict(line.split("=", 1) for line in text_of(self.folder / "environment").split("\0")[:-1])
        given = {name: value for name, value in given.items() if name.startswith("SHOAL_")}
        self.assertEqual(given.pop("SHOAL_TOKEN_FILE"), str(self.folder / ".shoal" / "job-token"))
        step = {"SLURM_JOB_ID": "77", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "8", "SLURM_STEP_NUM_NODES": "2",
                "SLURM_STEP_NODELIST": "n[1-2]", "SLURM_STEP_TASKS_PER_NODE": "4(x2)"}
        environments = [given | step | {"SLURM_PROCID": str(rank), "SLURM_LOCALID": str(rank // 2), "SLURM_NODEID": str(rank % 2)}
                        for rank in range(len(TASKS))]
        first = json.loads(shoal("config", environment=environments[0]).stdout)["rendezvous"]
        self.assertRegex(first[0], r"^n1:\d+$")
        self.expect_places("slurm", environments, first)

    def test_slurm_options_are_some(self):
        if not shutil.which("sbatch"):
            self.skipTest("there is no sbatch")
        conf = self.folder / "slurm.conf"
        conf.write_text("ClusterName=x\nSlurmctldHost=localhost\n")
        helped = {name: subprocess.run([name, "--help"], env=os.environ | {"SLURM_CONF": str(conf)}, text=True, capture_output=True,
                                       timeout=SECONDS_MAX).stdout for name in ("sbatch", "srun")}
        text = self.emit("slurm")
        options = re.findall(r"^#SBATCH (--[a-z-]+)=\S+$", text, re.MULTILINE)
        self.assertEqual(len(options), text.count("#SBATCH "))
        for name, words in (("sbatch", options), ("srun", ["--label", "--kill-on-bad-exit", "--wait"])):
            for word in words:
                self.assertRegex(helped[name], rf"{word}[=\[ ]")

    # --- all

    KINDS = (["kubernetes"], ["slurm"], ["systemd", "--rendezvous", "b:1"], ["compose"])

    def test_no_token_is_in_what_is_emitted(self):
        """Nor anything else of the one who emits it: the same comes out without a token."""
        token = shoal("keys", "token").stdout.strip()
        self.assertRegex(token, TOKEN)
        file = self.folder / "token"
        file.write_text(token)
        file.chmod(0o600)
        for kind in self.KINDS:
            for secret in ({"SHOAL_TOKEN": token}, {"SHOAL_TOKEN_FILE": str(file)}):
                text = self.emit(*kind, environment=secret)
                self.assertNotRegex(text, TOKEN)
                self.assertEqual(text, self.emit(*kind))

    def test_files_are_the_same_text_and_never_written_over(self):
        for kind in self.KINDS:
            folder = self.folder / kind[0]
            files = self.emit(*kind, "--emit-dir", str(folder)).splitlines()
            text = "---\n".join(text_of(file) for file in files)
            self.assertEqual(text, self.emit(*kind))
            again = shoal("launch", *SIZE, "--name", "job", "--emit", *kind, "--emit-dir", str(folder), "--", "/x", "--model-dir", "/m")
            self.assertEqual((again.returncode, again.stdout), (2, ""))
            self.assertIn(files[0] + ": cannot be made: File exists", again.stderr)
            self.assertEqual(text, "---\n".join(text_of(file) for file in files))


if __name__ == "__main__":
    unittest.main(verbosity=2)
