#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`shoal launch`, with small programs in place of those that train: restarts, signals, ports, output (CONTRACT FA-9)."""
import json
import os
import pathlib
import re
import signal
import stat
import subprocess
import tempfile
import time
import unittest

from job import POLL_SECONDS, SCALE, SECONDS_MAX, Process, program

# The begin of each task's script: its role, and a file of the test's folder that counts its starts.
PREAMBLE = """
case "$TF_CONFIG" in
  *'"type":"chief"'*) role=chief ;;
  *'"type":"ps"'*) role=ps ;;
  *'"type":"worker"'*) role=worker ;;
  *) role=evaluator ;;
esac
echo $$ >> started-$role
starts() { grep -c . started-$1 2>/dev/null || true; }
wait_for() { until [ -e "$1" ]; do sleep 0.02; done; }
"""

# Takes a port of the job: the first chief starts a process that belongs to no group, which listens there.
TAKES_A_PORT = """
import json, os, pathlib, socket, subprocess, sys, time
def listen(port):
    one = socket.socket()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    one.bind(("127.0.0.1", port))
    one.listen()
    return one
def wait_for(name):
    while not pathlib.Path(name).exists():
        if not pathlib.Path(__file__).exists():
            sys.exit(0)  # The test's folder is gone.
        time.sleep(0.02)
if len(sys.argv) > 1:
    socket = listen(int(sys.argv[1]))
    pathlib.Path("taken").touch()
    wait_for("over")
    sys.exit(0)
config = json.loads(os.environ["TF_CONFIG"])
port = int(config["cluster"]["ps"][0].split(":")[1])
with open("ports", "a") as ports:
    ports.write(f"{config['task']['type']} {port}\\n")
if config["task"]["type"] == "chief":
    if not pathlib.Path("taken").exists():
        subprocess.Popen([sys.executable, __file__, str(port)], start_new_session=True)
    wait_for("served")
else:
    wait_for("taken")
    try:
        listen(port)
    except OSError as error:
        sys.exit(1)
    pathlib.Path("served").touch()
"""


def is_alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")")[1].split()[0] != "Z"
    except OSError:
        return False


class Launch(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="shoal-launch-test-")
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.launches = []
        self.addCleanup(self.end_all)

    def end_all(self):
        for launch in self.launches:
            launch.kill()

    def command(self, options, script):
        return program("shoal") + ["launch", *options, "--", "sh", "-c", f"cd '{self.folder}'" + PREAMBLE + script]

    def environment(self, **variables):
        kept = {name: value for name, value in os.environ.items() if not name.startswith("SHOAL_") or "TEST" in name}
        return kept | {"TMPDIR": str(self.folder)} | variables

    def start(self, options, script, **variables):
        """A launch whose both outputs are one file."""
        options = options if "--log-dir" in options else [*options, "--no-logs"]
        launch = Process("launch", self.command(options, script), self.environment(**variables),
                         self.folder / f"output-{len(self.launches)}")
        self.launches.append(launch)
        return launch

    def run_to_end(self, options, script, prefix=(), **variables):
        """The launcher's status and two outputs."""
        options = options if "--log-dir" in options else [*options, "--no-logs"]
        ended = subprocess.run([*prefix, *self.command(options, script)], env=self.environment(**variables), text=True,
                               timeout=SECONDS_MAX, stdin=subprocess.DEVNULL, capture_output=True)
        return ended.returncode, ended.stdout, ended.stderr

    def started(self, role):
        """The processes of that role, in the order of their starts."""
        file = self.folder / f"started-{role}"
        return [int(line) for line in file.read_text().split()] if file.exists() else []

    def wait_until(self, condition, what, seconds=SECONDS_MAX):
        deadline = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), deadline, what)
            time.sleep(POLL_SECONDS)

    def wait_until_started(self, *roles):
        for role in roles:
            self.wait_until(lambda role=role: self.started(role), f"{role} does not start")

    def wait_until_gone(self, pids, seconds=SECONDS_MAX):
        self.wait_until(lambda: not any(is_alive(pid) for pid in pids), f"some of {pids} live on", seconds)

    # Failures.

    def test_a_task_that_is_killed_five_times_is_started_again_five_times(self):
        status, _, err = self.run_to_end(["--ps", "1", "--restart-secs", "0.01"], """
            if [ $role = ps ] && [ $(starts ps) -le 5 ]; then kill -9 $$; fi
            if [ $role = ps ]; then touch served; fi
            wait_for served""")
        self.assertEqual(status, 0, err)
        self.assertEqual(len(self.started("ps")), 6)
        self.assertEqual(len(self.started("chief")), 1)
        self.assertRegex(err, r"\[launch\] ps 0 was ended by signal 9 \(Killed\).*\(restart 5 of 5\)")
        self.assertIn("[launch] ps 0 was started again 5 times", err)

    def test_the_sixth_time_fails_the_job_and_stops_the_others(self):
        status, out, err = self.run_to_end(["--ps", "1", "--restart-secs", "0.01"], """
            if [ $role = ps ]; then kill -9 $$; fi
            exec sleep 1000""")
        self.assertEqual(status, 1)
        self.assertEqual(len(self.started("ps")), 6)
        self.assertIn("after 5 restarts", err)
        self.assertEqual(out, "")
        self.wait_until_gone(self.started("chief"))

    def test_a_permanent_error_is_not_retried(self):
        status, _, err = self.run_to_end(["--ps", "1"], "if [ $role = chief ]; then exit 3; fi; exec sleep 1000")
        self.assertEqual(status, 3)
        self.assertEqual(len(self.started("chief")), 1)
        self.assertIn("chief 0 ended with status 3 (the loss was not a number), which a restart cannot repair", err)

    def test_a_program_that_cannot_be_run_is_a_sentence(self):
        file = self.folder / "broken"
        file.write_text("#!/no/such/interpreter\n")
        file.chmod(file.stat().st_mode | stat.S_IXUSR)
        ended = subprocess.run(program("shoal") + ["launch", "--no-logs", "--", str(file)], text=True, capture_output=True,
                               env=self.environment(), timeout=SECONDS_MAX)
        self.assertEqual(ended.returncode, 2)
        self.assertIn("broken: cannot be run: No such file", ended.stderr)

    def test_a_program_that_vanishes_ends_the_job(self):
        file = self.folder / "vanishes"
        file.write_text(f"#!/bin/sh\ncd {self.folder}" + PREAMBLE + """
            if [ $role = chief ]; then exec sleep 1000; fi
            wait_for started-chief; rm vanishes; exit 1""")
        file.chmod(file.stat().st_mode | stat.S_IXUSR)
        ended = subprocess.run(program("shoal") + ["launch", "--no-logs", "--ps", "1", "--restart-secs", "0", "--", str(file)],
                               text=True, capture_output=True, env=self.environment(), timeout=SECONDS_MAX)
        self.assertEqual(ended.returncode, 2, ended.stderr)
        self.assertRegex(ended.stderr, "ps 0: .*vanishes: cannot be run: No such file")
        self.wait_until_gone(self.started("chief"))

    def test_the_evaluator_is_waited_for(self):
        status, out, err = self.run_to_end(["--evaluator", "--ps", "1", "--restart-secs", "0.01"], """
            if [ $role = chief ]; then touch trained; exit 0; fi
            wait_for trained
            if [ $role = evaluator ] && [ $(starts evaluator) = 1 ]; then exit 1; fi
            if [ $role = evaluator ]; then echo '{"accuracy": 0.5, "global_step": 7}' > $SHOAL_REPORT_FILE; fi""")
        self.assertEqual(status, 0, err)
        self.assertEqual(len(self.started("evaluator")), 2)
        self.assertEqual(out.splitlines()[-1], "Evaluated at global step 7: accuracy 0.5")

    def test_an_interrupt_of_a_worker_or_of_the_evaluator_alone_is_theirs(self):
        script = """
            case $role in
              chief) report='"status": "complete", "global_step": 600, "flags": {"steps": 600}' ;;
              worker) report='"status": "interrupted", "interrupted": true, "global_step": 200, "flags": {"steps": 200}' ;;
              evaluator) report='"loss": 0.5, "status": "complete", "last": {"global_step": 0}, "flags": {"steps": 200}' ;;
              ps) exit 0 ;;
            esac
            echo "{$report}" > $SHOAL_REPORT_FILE"""
        options = ["--ps", "1", "--workers", "1", "--evaluator"]
        status, out, err = self.run_to_end([*options, "--json"], script)
        self.assertEqual(status, 0, err)
        self.assertEqual(json.loads(out), {"status": "complete", "global_step": 600, "flags": {"steps": 600}, "loss": 0.5,
                                           "last": {"global_step": 0}})
        self.assertIn("[launch] global step 600, where training ended, was not evaluated; "
                      "evaluator 0 ended after it had evaluated global step 0\n", err)
        status, out, err = self.run_to_end(options, script)
        self.assertEqual(out, "Evaluated at global step 0: loss 0.5\n", err)

    def test_a_port_that_somebody_takes_is_replaced(self):
        script = self.folder / "takes_a_port.py"
        script.write_text(TAKES_A_PORT)
        status, _, err = self.run_to_end(["--ps", "1", "--max-restarts", "0"], f"exec python3 {script}")
        (self.folder / "over").touch()
        self.assertEqual(status, 0, err)
        self.assertIn("ps 0 has ended, since another process listens at its address", err)
        ports = (self.folder / "ports").read_text().split("\n")[:-1]
        self.assertEqual(len(ports), 4)  # two of each: all tasks were started again
        self.assertEqual(len({line.split()[1] for line in ports}), 2, ports)

    def test_what_a_task_leaves_behind_ends_with_it(self):
        status, _, err = self.run_to_end(["--restart-secs", "0.01"], """
            if [ $(starts chief) = 1 ]; then sleep 1000 & echo $! > left; exit 1; fi""")
        self.assertEqual(status, 0, err)
        self.assertFalse(is_alive(int((self.folder / "left").read_text())))

    def test_orphans_with_a_session_of_their_own_leave_no_zombies(self):
        launch = self.start([], """
            (setsid sh -c 'touch born; exit 0' &)
            wait_for born; echo ready; wait_for over""")
        launch.wait_for("ready")
        children = pathlib.Path(f"/proc/{launch.pid}/task/{launch.pid}/children")
        alive = lambda: all(is_alive(int(pid)) for pid in children.read_text().split())
        self.wait_until(alive, "a zombie stays")
        (self.folder / "over").touch()
        self.assertEqual(launch.wait(SECONDS_MAX), 0)

    def test_the_place_of_a_task_does_not_come_from_the_launchers_own_environment(self):
        launch = Process("launch", program("shoal") + ["launch", "--no-logs", "--ps", "1", "--", *program("shoal"), "config"],
                         self.environment(SHOAL_SOURCE="local", SHOAL_RANK="0"), self.folder / "output-config")
        self.launches.append(launch)
        self.assertEqual(launch.wait(SECONDS_MAX), 0)
        self.assertRegex(launch.text(), r'\[ps 0\] .*"task_type": ?"ps"')

    def test_chaos_kills_and_counts_no_restart(self):
        launch = self.start(["--ps", "2", "--max-restarts", "0", "--stop-secs", "0.2", "--chaos", "0.1", "--chaos-seed", "5"],
                            "if [ $role = chief ]; then wait_for over; else exec sleep 1000; fi")
        launch.wait_for("(?s)(chaos: .*){8}")
        (self.folder / "over").touch()
        self.assertEqual(launch.wait(SECONDS_MAX), 0)
        text = launch.text()
        self.assertRegex(text, r"\[launch\] (ps|chief) \d was started again \d+ times? \(\d+ of them after chaos\)")
        self.assertNotIn("(restart", text)

    # Signals.

    def test_a_signal_reaches_all_and_the_job_ends_with_zero(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number):
                for file in self.folder.glob("started-*"):
                    file.unlink()
                launch = self.start(["--ps", "1", "--workers", "1", "--evaluator"], """
                    trap 'echo told; exit 0' INT TERM
                    echo ready; while true; do sleep 0.05; done""")
                launch.wait_for(r"(?s)(\[\w+ 0\] ready.*){4}")
                launch.signal(number)
                self.assertEqual(launch.wait(SECONDS_MAX), 0)
                self.assertEqual(len(re.findall(r"\[\w+ 0\] told", launch.text())), 4)

    def test_tasks_that_do_not_handle_signals_yet_are_interrupted(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number):
                report = self.folder / "of_the_job.json"
                launch = self.start(["--ps", "1"], "echo begins; exec sleep 1000", SHOAL_REPORT_FILE=str(report))
                launch.wait_for(r"(?s)(\[\w+ 0\] begins.*){2}")
                launch.signal(number)
                self.assertEqual(launch.wait(SECONDS_MAX), 0, launch.text())
                self.assertEqual(json.loads(report.read_text()), {"status": "interrupted", "interrupted": True})

    def test_a_chief_that_trains_and_dies_of_the_signal_is_named(self):
        launch = self.start([], 'echo "12:34:56.789 I chief 0: loss = 0.5, step = 100" >&2; exec sleep 1000')
        launch.wait_for("step = 100")
        launch.signal(signal.SIGTERM)
        self.assertEqual(launch.wait(SECONDS_MAX), 1)
        self.assertIn("[launch] chief 0 was ended by signal 15 (Terminated)\n", launch.text())

    def test_a_signal_in_the_first_moment_leaves_no_folder(self):
        for _ in range(5):
            launch = self.start(["--ps", "1"], "exec sleep 1000")
            deadline = time.monotonic() + SECONDS_MAX
            while not list(self.folder.glob("shoal-launch-*")):  # Without a pause: the signal is to come at once.
                self.assertLess(time.monotonic(), deadline, "no folder")
            launch.signal(signal.SIGTERM)
            self.assertEqual(launch.wait(SECONDS_MAX), 0, launch.text())
            self.assertEqual(list(self.folder.glob("shoal-launch-*")), [])

    def test_a_signal_to_all_of_a_service_is_one(self):
        # systemd and Slurm signal every process, and the launcher passes on the one that it got. Tasks count the signals.
        launch = self.start(["--ps", "1"], """
            trap 'echo told >> told-$role; wait_for all; exit 0' TERM
            echo ready; while true; do sleep 0.05; done""")
        launch.wait_for(r"(?s)(\[\w+ 0\] ready.*){2}")
        for pid in [launch.pid, launch.pid, *self.started("chief"), *self.started("ps")]:
            os.kill(pid, signal.SIGTERM)
        launch.wait_for("a signal: ")
        (self.folder / "all").touch()
        self.assertEqual(launch.wait(SECONDS_MAX), 0)
        self.assertNotIn("second signal", launch.text())

    def test_nohup_is_heeded(self):
        command = self.command(["--no-logs"], "echo ready; wait_for over")
        with open(self.folder / "output-nohup", "wb") as output:
            launch = subprocess.Popen(["nohup", *command], env=self.environment(), stdin=subprocess.DEVNULL, stdout=output,
                                      stderr=subprocess.STDOUT)
        self.addCleanup(launch.kill)
        self.wait_until_started("chief")
        launch.send_signal(signal.SIGHUP)
        launch.send_signal(signal.SIGHUP)
        (self.folder / "over").touch()
        self.assertEqual(launch.wait(SECONDS_MAX), 0)
        self.assertNotIn("a signal", (self.folder / "output-nohup").read_text())

    def test_a_second_signal_ends_at_once(self):
        launch = self.start(["--ps", "1"], "trap '' INT TERM; echo ready; while true; do sleep 0.05; done")
        launch.wait_for(r"(?s)(\[\w+ 0\] ready.*){2}")
        launch.signal(signal.SIGTERM)
        launch.wait_for("a second one ends the job at once")
        time.sleep(0.6)  # Within half a second they would count as one.
        launch.signal(signal.SIGINT)
        self.assertEqual(launch.wait(10 * SCALE), 128 + signal.SIGINT)
        self.wait_until_gone(self.started("chief") + self.started("ps"))

    def test_who_heeds_no_signal_is_killed(self):
        launch = self.start(["--stop-secs", "0.3"], "trap '' TERM; echo ready; while true; do sleep 0.05; done")
        launch.wait_for("ready")
        launch.signal(signal.SIGTERM)
        self.assertEqual(launch.wait(SECONDS_MAX), 1)
        self.assertIn("have not left within 0.3 s: chief 0", launch.text())

    def test_nothing_outlives_a_killed_launcher(self):
        # A program that ends by a signal, one that heeds none, and one that leaves a child which was not told.
        launch = self.start(["--ps", "1", "--workers", "1", "--stop-secs", "1"], """
            case $role in
              chief) sleep 1000 & echo $! > child; wait_for never ;;
              ps) trap '' TERM; while true; do sleep 0.05; done ;;
              worker) exec sleep 1000 ;;
            esac""")
        self.wait_until_started("chief", "ps", "worker")
        file = self.folder / "child"
        self.wait_until(lambda: file.exists() and file.read_text().endswith("\n"), "no child")
        children = [pid for role in ("chief", "ps", "worker") for pid in self.started(role)]
        children.append(int(file.read_text()))
        launch.kill()
        self.wait_until_gone(children, 10 * SCALE)
        self.wait_until(lambda: not list(self.folder.glob("shoal-launch-*")), "its folder is left", 10 * SCALE)

    def test_a_guard_that_is_killed_is_replaced(self):
        launch = self.start(["--stop-secs", "0.2"], "trap '' TERM; echo ready; while true; do sleep 0.05; done")
        launch.wait_for("ready")
        self.wait_until(lambda: self.guard_of(launch), "no guard")  # The guard gets its name a moment after it is born.
        guard = self.guard_of(launch)
        os.kill(guard, signal.SIGKILL)
        self.wait_until(lambda: self.guard_of(launch) not in (None, guard), "no other guard")
        launch.kill()
        self.wait_until_gone(self.started("chief"), 10 * SCALE)

    def guard_of(self, launch):
        """The launch's guard process, None if there is none."""
        children = pathlib.Path(f"/proc/{launch.pid}/task/{launch.pid}/children").read_text().split()
        for child in children:
            try:
                if pathlib.Path(f"/proc/{child}/comm").read_text().strip() == "shoal-guard":
                    return int(child)
            except OSError:
                pass
        return None

    # Output.

    def test_lines_carry_the_names_of_tasks_and_are_kept_in_files(self):
        logs = self.folder / "logs"
        status, out, err = self.run_to_end(["--ps", "1", "--log-dir", str(logs)], r"""
            echo "hello from $role"; echo "a complaint of $role" >&2
            printf 'no end'""")
        self.assertEqual(status, 0, err)
        self.assertEqual(sorted(out.splitlines()), ["[chief 0] hello from chief", "[chief 0] no end",
                                                    "[ps 0] hello from ps", "[ps 0] no end"])
        self.assertIn("[ps 0] a complaint of ps\n", err)
        self.assertEqual({file.name for file in logs.iterdir()}, {"chief-0.log", "ps-0.log"})
        log = (logs / "ps-0.log").read_text()
        for text in ("ps 0 starts as process", "hello from ps\n", "a complaint of ps\n", "no end"):
            self.assertIn(text, log)

    def test_json_is_alone_on_standard_output(self):
        status, out, err = self.run_to_end(["--ps", "1", "--json"], """
            echo "hello from $role"
            if [ $role = chief ]; then echo '{"global_step": 7, "seconds": 1.5}' > $SHOAL_REPORT_FILE; fi""")
        self.assertEqual(status, 0, err)
        self.assertEqual(json.loads(out), {"global_step": 7, "seconds": 1.5})
        self.assertIn("[ps 0] hello from ps", err)

    def test_a_program_that_changes_its_folder_reports_even_if_tmpdir_is_relative(self):
        (self.folder / "tmp").mkdir()
        command = self.command(["--no-logs", "--json"], """cd /; echo '{"global_step": 7}' > $SHOAL_REPORT_FILE""")
        ended = subprocess.run(command, env=self.environment(TMPDIR="tmp"), text=True, timeout=SECONDS_MAX, cwd=self.folder,
                               stdin=subprocess.DEVNULL, capture_output=True)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertEqual(json.loads(ended.stdout), {"global_step": 7})
        self.assertEqual(list((self.folder / "tmp").iterdir()), [])

    def test_a_folder_for_reports_that_cannot_be_made_says_how_to_choose_another(self):
        status, _, err = self.run_to_end([], "true", TMPDIR="/proc")  # Nobody can make a folder there.
        self.assertNotEqual(status, 0)
        self.assertIn("the environment variable TMPDIR names another one than /proc", err)

    def test_the_report_of_the_job_is_where_its_starter_wants_it(self):
        file = self.folder / "of_the_job.json"
        status, out, err = self.run_to_end(["--ps", "1", "--json"], """
            echo "trial $SHOAL_TRIAL"
            if [ $role = chief ]; then echo '{"status": "complete", "global_step": 7}' > $SHOAL_REPORT_FILE; fi""",
                                           SHOAL_REPORT_FILE=str(file), SHOAL_TRIAL="12")
        self.assertEqual(status, 0, err)
        self.assertEqual(json.loads(file.read_text()), json.loads(out))
        self.assertEqual(json.loads(out), {"status": "complete", "global_step": 7})
        self.assertIn("[ps 0] trial 12", err)

    def test_the_report_of_a_job_that_failed_has_the_error(self):
        file = self.folder / "of_the_job.json"
        for telling, error in (("""echo '{"status": "failed", "error": "no data"}' > $SHOAL_REPORT_FILE""", "chief 0: no data"),
                               (":", "the job has ended with status 2")):
            status, _, err = self.run_to_end(["--ps", "1"], f"""
                if [ $role = chief ]; then {telling}; exit 2; fi
                exec sleep 100""", SHOAL_REPORT_FILE=str(file))
            self.assertEqual(status, 2, err)
            self.assertEqual(json.loads(file.read_text()), {"status": "failed", "error": error})
        status, _, err = self.run_to_end(["--max-restarts", "1", "--restart-secs", "0"], """
            if [ $(starts chief) -gt 3 ]; then kill -9 $$; fi
            echo '{"status": "failed", "error": "of another process"}' > $SHOAL_REPORT_FILE; exit 1""", SHOAL_REPORT_FILE=str(file))
        self.assertEqual(json.loads(file.read_text())["error"], "the job has ended with status 1", err)
        file.unlink()
        status, _, err = self.run_to_end(["--ps", "1"], "true", SHOAL_REPORT_FILE=str(self.folder / "none/report"))
        self.assertEqual(status, 0, err)
        self.assertIn("SHOAL_REPORT_FILE: ", err)

    def test_much_output_arrives_whole(self):
        status, out, err = self.run_to_end(["--ps", "1"], "seq 1 100000")
        self.assertEqual(status, 0, err)
        lines = out.splitlines()
        for task in ("[chief 0] ", "[ps 0] "):
            self.assertEqual([line for line in lines if line.startswith(task)], [f"{task}{i}" for i in range(1, 100001)])

    def test_the_token_is_in_no_command_line_and_no_log(self):
        if os.environ.get("SHOAL_TEST_TLS") != "1":
            self.skipTest("this build has no tokens")
        logs = self.folder / "logs"
        launch = self.start(["--ps", "1", "--log-dir", str(logs)], """
            umask 077; echo $SHOAL_TOKEN > token-$role.new; mv token-$role.new token-$role; wait_for go""")
        tokens = [self.folder / "token-chief", self.folder / "token-ps"]
        self.wait_until(lambda: all(token.exists() for token in tokens), "no token")
        token, other = (file.read_text().strip() for file in tokens)
        self.assertRegex(token, "^shoal1-.{48}$")
        self.assertEqual(token, other)
        for line in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                self.assertNotIn(token.encode(), line.read_bytes(), line)
            except OSError:
                pass  # The process has ended.
        (self.folder / "go").touch()
        self.assertEqual(launch.wait(), 0)
        for file in [self.folder / "output-0", *logs.iterdir()]:
            self.assertNotIn(token, file.read_text(), file)

    def test_the_users_token_is_kept(self):
        launch = self.start([], 'echo "token is $SHOAL_TOKEN; from file $SHOAL_TOKEN_FILE"', SHOAL_TOKEN_FILE="mine")
        self.assertEqual(launch.wait(), 0)
        self.assertIn("token is ; from file mine", launch.text())

    # Many.

    def test_three_hundred_tasks(self):
        limit = ["sh", "-c", 'ulimit -Sn 256; exec "$@"', "sh"]
        status, out, err = self.run_to_end(["--ps", "120", "--workers", "179"], """
            echo "here with $(ulimit -Sn) files"
            if [ $role = chief ]; then while [ $(starts worker) -lt 179 ]; do sleep 0.1; done; fi""", prefix=limit)
        self.assertEqual(status, 0, err[-2000:])
        self.assertEqual(out.count("here with 256 files"), 300)


if __name__ == "__main__":
    unittest.main(verbosity=2)
