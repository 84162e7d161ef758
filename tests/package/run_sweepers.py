#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does what docs/how-to/sweepers.md says: a search by Optuna (by a stand-in where there is none), a pipeline by make, a Job of Kubernetes
with a process for each pod, and the ends that its tables name.

usage: run_sweepers.py PAGE TRAIN SHOAL
"""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from readme import SECONDS_MAX, code_blocks, execute_block

TESTS = pathlib.Path(__file__).resolve().parent
PYTHON = "/usr/bin/python3"  # Debian's, which has Debian's packages.
MANY_STEPS = 1_000_000  # more than are made before a signal comes


def expect(condition, sentence):
    if not condition:
        sys.exit(sentence)


def write_page_files(page, folder):
    """The blocks whose first line is a comment that is the name of a file."""
    text = pathlib.Path(page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```\w+\n# ([\w.]+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    for name, body in blocks:
        (folder / name).write_text(body, encoding="utf-8")
    expect({name for name, _ in blocks} == {"make_points.py", "search.py", "Makefile", "search.yaml"}, f"files of the page: {blocks}")


class Place:
    """A folder in which the page's commands work, with the page's program as ./train."""

    def __init__(self, page, train, shoal, folder):
        self.page, self.folder = pathlib.Path(page).resolve(), folder
        programs = folder / "programs"
        programs.mkdir()
        (programs / "shoal").symlink_to(pathlib.Path(shoal).resolve())
        (programs / "python3").symlink_to(PYTHON)
        (folder / "train").symlink_to(pathlib.Path(train).resolve())
        write_page_files(page, folder)
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(("SHOAL_", "TF_CONFIG", "MAKE"))}
        self.environment["PATH"] = f"{programs}:{os.environ['PATH']}"

    def start(self, *words, **variables):
        return subprocess.Popen([str(word) for word in words], cwd=self.folder, env=self.environment | variables, text=True,
                                start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def finish(self, process):
        try:
            output, _ = process.communicate(timeout=SECONDS_MAX)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            sys.exit(f"{process.args} did not end within {SECONDS_MAX} s: {process.communicate()[0]}")
        return process.returncode, output

    def run(self, *words, status=0, **variables):
        got, output = self.finish(self.start(*words, **variables))
        expect(got == status, f"{words} ended with {got}, not {status}: {output}")
        return output

    def signal_once_saved(self, process, model, number, to="all"):
        """Waits for the first checkpoint of `model`, then sends a signal to the whole group, as a terminal does, or to its train alone."""
        until = time.monotonic() + SECONDS_MAX
        while not (self.folder / model / "checkpoint").exists():
            expect(process.poll() is None, f"{process.args} ended early: {process.communicate()[0] if process.poll() is not None else ''}")
            expect(time.monotonic() < until, f"{process.args} saved nothing within {SECONDS_MAX} s")
            time.sleep(0.02)
        if to == "train":
            os.kill(self.child_of(process.pid), number)
        else:
            os.killpg(process.pid, number)
        return self.finish(process)

    @staticmethod
    def child_of(pid):
        """The one child of a process, or of its one child, that runs the page's program."""
        while True:
            pid = int(pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()[0])
            if pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"./train"):
                return pid

    def report(self, model):
        return json.loads((self.folder / model / "report.json").read_text(encoding="utf-8"))


def check_ends(place):
    """The tables at the top of the page."""
    train = ["./train", "--data-dir", ".", "--quiet"]
    file = place.folder / "outcome.json"
    place.run(*train, "--model-dir", "ends", "--steps", "60", "--param", "learning-rate=0.02", "--hidden-units", "4,3",
              SHOAL_TRIAL="7", SHOAL_REPORT_FILE=str(file))
    report = place.report("ends")
    expect(report == json.loads(file.read_text()), "the two reports differ")
    expect((report["status"], report["trial"], report["global_step"]) == ("complete", "7", 60), f"{report}")
    expect(report["flags"]["learning-rate"] == 0.02 and report["flags"]["hidden-units"] == [4, 3], f"{report}")
    events = [json.loads(line) for line in place.run("shoal", "events", "ends/eval", "--tag", "loss").splitlines()]
    expect(events[-1]["step"] == 60 and abs(events[-1]["value"] - report["last"]["loss"]) < 1e-6, f"{events}, {report}")
    expect((pathlib.Path(place.folder) / report["export"] / "export.json").exists(), f"{report}")
    wrong = place.run(*train, "--model-dir", "wrong", "--hidden-units", "0", status=2, SHOAL_REPORT_FILE=str(file))
    failed = json.loads(file.read_text())
    expect(failed["status"] == "failed" and failed["error"] in wrong, f"{failed}: {wrong}")
    ended = place.start(*train, "--model-dir", "early", "--steps", str(MANY_STEPS))
    status, _ = place.signal_once_saved(ended, "early", signal.SIGTERM)
    expect(status == 0 and place.report("early")["status"] == "interrupted", f"{status}, {place.report('early')}")
    killed = place.start(*train, "--model-dir", "killed", "--steps", str(MANY_STEPS))
    place.signal_once_saved(killed, "killed", signal.SIGKILL)
    expect(not (place.folder / "killed/report.json").exists(), "a process that was killed has left a report")


def check_cluster(place):
    """A trial that is a cluster: the launcher's report, and the one in the folder, to which the evaluator has added its evaluations."""
    file = place.folder / "outcome.json"
    place.run("shoal", "launch", "--no-logs", "--ps", "1", "--workers", "1", "--evaluator", "--", "./train", "--data-dir", ".", "--model-dir",
              "cluster", "--steps", "200", SHOAL_REPORT_FILE=str(file), SHOAL_TRIAL="9")
    whole, report = json.loads(file.read_text()), place.report("cluster")
    expect(whole["last"]["global_step"] == whole["global_step"] >= 200 and whole["trial"] == "9", f"{whole}")
    for name in ("status", "last", "best", "export", "trial", "global_step"):
        expect(report[name] == whole[name], f"{name}: {report}, {whole}")
    expect("loss" not in report and whole["loss"] == report["last"]["loss"], f"{report}, {whole}")


def check_optuna(place):
    found = subprocess.run([PYTHON, "-c", "import optuna"], capture_output=True, check=False, env=place.environment)
    if found.returncode != 0:
        print("there is no optuna for Python; a stand-in with the names that the page uses takes its place")
        shutil.copy(TESTS / "optuna_stand_in.py", place.folder / "optuna.py")
    script = place.folder / "search.py"  # Trials that last for longer than one look at their evaluations.
    script.write_text(script.read_text().replace('"300"', '"3000"').replace("n_trials=6", "n_trials=3"), encoding="utf-8")
    said = place.run(PYTHON, "search.py")
    best = json.loads(said.splitlines()[-1])
    reports = {report["trial"]: report for report in (place.report(f"search/{number:04}") for number in range(3))}
    complete = {trial: report["best"]["loss"] for trial, report in reports.items() if report["status"] == "complete"}
    expect(sorted(reports) == ["0", "1", "2"], f"{reports}")
    expect(best["loss"] == min(complete.values()) and complete[str(best["trial"])] == best["loss"], f"{best}, {complete}")
    if found.returncode != 0:  # The stand-in's second trial learns slowly.
        pruned = reports["1"]
        expect(pruned["status"] == "interrupted" and pruned["global_step"] < 3000, f"{pruned}: {said}")


def check_make(place):
    if shutil.which("make") is None:
        print("there is no make; its part of the page was not run")
        return
    place.run("make")
    rows = (place.folder / "predictions.csv").read_text().splitlines()
    expect(len(rows) == 1001, f"{len(rows)} lines of predictions")
    first = json.loads((place.folder / "model/run.json").read_text())["id"]
    expect("up to date" in place.run("make"), "a second make does something again")
    for number, ends in ((signal.SIGINT, "make"), (signal.SIGTERM, "train")):  # By Ctrl-C all end, by kill the program alone.
        folder = f"ended-{ends}"
        interrupted = place.start("make", f"MODEL={folder}", f"STEPS={MANY_STEPS}", f"{folder}.json")
        status, said = place.signal_once_saved(interrupted, folder, number, ends)
        expect(status != 0 and not (place.folder / f"{folder}.json").exists(), f"make ended with {status}: {said}")
        steps = place.report(folder)["global_step"] + 60
        expect("restored from checkpoint" in place.run("make", f"MODEL={folder}", f"STEPS={steps}", f"{folder}.json"), "make began anew")
        expect(json.loads((place.folder / f"{folder}.json").read_text())["global_step"] == steps, "make has not trained on")
    os.utime(place.folder / "make_points.py", (time.time() + 5, time.time() + 5))  # Another table is another run.
    os.utime(place.folder / "points.csv", (1, 1))
    place.run("make")
    expect(json.loads((place.folder / "model/run.json").read_text())["id"] != first, "a new table has not begun a new run")


def manifest_of(place):
    sys.path.insert(0, str(TESTS.parent / "cli"))
    import manifest_rules
    if manifest_rules.yaml is None:
        print("there is no PyYAML; the page's manifest was not read")
        return None
    documents = manifest_rules.documents((place.folder / "search.yaml").read_text(encoding="utf-8"))
    expect(len(documents) == 1, "the manifest is not one document")
    return documents[0]


def check_kubernetes(place):
    job = manifest_of(place)
    if job is None:
        return
    spec, pod = job["spec"], job["spec"]["template"]["spec"]
    container = pod["containers"][0]
    expect((job["apiVersion"], job["kind"], spec["completionMode"]) == ("batch/v1", "Job", "Indexed"), f"{job}")
    # "Job v1": a podFailurePolicy needs restartPolicy Never, and FailIndex needs backoffLimitPerIndex.
    expect(pod["restartPolicy"] == "Never" and spec["backoffLimitPerIndex"] > 0, f"{spec}")
    statuses = {}
    for rule in spec["podFailurePolicy"]["rules"]:
        expect(rule["onExitCodes"]["containerName"] == container["name"], f"{rule}")
        statuses |= dict.fromkeys(rule["onExitCodes"]["values"], rule["action"])
    expect(statuses == {2: "FailIndex", 3: "FailIndex", 4: "FailIndex", 143: "Ignore"}, f"{statuses}")
    expect(pod["volumes"][0]["name"] == container["volumeMounts"][0]["name"], f"{pod}")
    if shutil.which("kubectl"):  # It reads the manifest into its own types, which drop what they do not know. No server is needed.
        read = json.loads(place.run("kubectl", "set", "env", "--local", "-f", "search.yaml", "-o", "json", "A=b"))
        expect(all(read["spec"][name] == value for name, value in spec.items() if name != "template"), f"{read}")
        expect(all(read["spec"]["template"]["spec"][name] == value for name, value in pod.items() if name != "containers"), f"{read}")
    else:
        print("there is no kubectl; the manifest was checked by rules of this test alone")
    variables = {item["name"]: item["value"] for item in container["env"]}
    (place.folder / "models").mkdir()
    script = container["args"][0].replace(container["volumeMounts"][0]["mountPath"] + "/", "models/")
    run_pods(place, [*container["command"], script], variables, spec["completions"])


def run_pods(place, command, variables, completions):
    """A process for each pod, one after another. The first is deleted while it trains, and its successor goes on."""
    longer = [command[0], *command[1:-1], command[-1].replace("--steps 300", f"--steps {MANY_STEPS}")]
    deleted = place.start(*longer, **variables, JOB_COMPLETION_INDEX="0")
    status, said = place.signal_once_saved(deleted, "models/search/0", signal.SIGTERM)
    expect(status == 143, f"a pod that was deleted ended with {status}: {said}")
    for index in range(completions):
        said = place.run(*command, **variables, JOB_COMPLETION_INDEX=str(index))
        expect(index != 0 or "restored from checkpoint" in said or "nothing" in said, said)
    reports = [place.report(f"models/search/{index}") for index in range(completions)]
    rates = [report["flags"]["learning-rate"] for report in reports]
    expect(len(set(rates)) == completions and all(report["status"] == "complete" for report in reports), f"{reports}")
    best = min(reports, key=lambda report: report["best"]["loss"])
    block = next(block for block in code_blocks(place.page, "sh") if "sort -g" in block)
    listed = execute_block(block, place.folder, place.environment).split()
    expect(listed[1] == best["trial"] and listed[3] == best["export"], f"{listed}, {best}")


def main(page, train, shoal):
    for check in (check_ends, check_cluster, check_make, check_kubernetes, check_optuna):
        with tempfile.TemporaryDirectory() as name:
            place = Place(page, train, shoal, pathlib.Path(name))
            (place.folder / "points.csv").write_text(place.run(PYTHON, "make_points.py"), encoding="utf-8")
            began = time.monotonic()
            check(place)
            print(f"{check.__name__}: {time.monotonic() - began:.1f} s")


if __name__ == "__main__":
    main(*sys.argv[1:])
