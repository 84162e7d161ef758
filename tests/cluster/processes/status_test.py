#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`shoal status` asks the tasks of real jobs how they are, as a probe does, and disturbs none.

docs/decisions/job-status.md says why."""
import json
import os
import signal
import socket
import subprocess
import time
import unittest

from job import FOREVER, POLL_SECONDS, SCALE, SECONDS_MAX, Job, JobTest, free_port, make_token, program

THREE = ("ps 0", "chief 0", "worker 0")
RANKS = ("chief 0", "ps 0", "worker 0", "worker 1", "evaluator 0")


def shoal_status(*arguments, **variables):
    """(exit status, the object that it printed or None, its error line)"""
    environment = {name: value for name, value in os.environ.items()
                   if name != "TF_CONFIG" and (not name.startswith("SHOAL_") or name.startswith("SHOAL_TEST_"))}
    environment |= {name: value for name, value in variables.items() if value is not None}
    limit = () if "--timeout-secs" in arguments else ("--timeout-secs", str(10 * SCALE))
    asked = subprocess.run(program("shoal") + ["status", *arguments, *limit], env=environment, text=True, capture_output=True,
                           timeout=SECONDS_MAX)
    return asked.returncode, json.loads(asked.stdout) if asked.stdout else None, asked.stderr


def until(what, *arguments, **variables):
    """Asks until `what` is true of the answer, and returns that."""
    deadline = time.monotonic() + SECONDS_MAX
    while time.monotonic() < deadline:
        status, said, complaint = shoal_status(*arguments, **variables)
        if what(status, said):
            return said
        time.sleep(POLL_SECONDS)
    raise AssertionError(f"{arguments} {variables}: {status} {said} {complaint}")


def trains(status, said):
    return status == 0 and said["ready"] and said["global_step"] > 0


class Status(JobTest):
    def token(self):
        return make_token() if os.environ.get("SHOAL_TEST_TLS") != "0" else None

    def test_a_server_says_phase_step_and_peers(self):
        token = self.token()
        with Job(THREE, ["--steps", str(FOREVER), "--step-ms", "5"], token=token) as job:
            address = job.address("ps 0")
            status, said, complaint = shoal_status(address, SHOAL_TOKEN=token)
            self.assertEqual((status, said), (1, None))
            self.assertIn(address, complaint)
            job.wait_until_it_listens(job.start("ps 0"))
            status, said, complaint = shoal_status(address, "--ready", SHOAL_TOKEN=token)
            self.assertEqual((status, said["phase"], said["global_step"], said["peers_connected"], said["ready"]),
                             (1, "empty", None, 0, False))
            self.assertIn("ps 0 at tcp://" + address + ": its phase is empty, and not ready", complaint)
            self.assertEqual(shoal_status(address, "--live", SHOAL_TOKEN=token)[0], 0)
            job.start("chief 0")
            worker = job.start("worker 0")
            until(lambda status, said: trains(status, said) and said["peers_connected"] == 2, address, SHOAL_TOKEN=token)
            said = until(trains, address, "--ready", SHOAL_TOKEN=token)
            self.assertEqual((said["role"], said["index"], said["phase"]), ("ps", 0, "ready"))
            self.assertEqual([{name: peer[name] for name in ("task", "connected")} for peer in said["peers"]],
                             [{"task": "chief 0", "connected": True}, {"task": "worker 0", "connected": True}])
            own = {"SHOAL_TOKEN": token, "TF_CONFIG": job.tf_config("worker 0")}
            self.assertEqual(shoal_status("--live", **own)[0], 0)
            self.assertEqual(shoal_status("--ready", **own)[1]["task"], "worker 0")
            worker.kill()
            until(lambda status, said: status == 1 and not said["ready"], "--live", **own)
            self.assertEqual(shoal_status("--ready", **own)[0], 1)
            if token:
                for process in job.started:
                    self.assertNotIn(token[:16], process.text())

    @unittest.skipIf(os.environ.get("SHOAL_TEST_TLS") == "0", "this build has no TLS")
    def test_who_asks_needs_the_token(self):
        with Job(("ps 0", "chief 0"), token=make_token()) as job:
            job.wait_until_it_listens(job.start("ps 0"))
            for other in (make_token(), None):
                status, said, complaint = shoal_status(job.address("ps 0"), SHOAL_TOKEN=other)
                self.assertEqual((status, said), (2, None))
                self.assertRegex(complaint, "same token|requires the job's token")
                self.assertEqual(complaint.count(job.address("ps 0")), 1)

    def test_ranks_are_asked_as_a_pod_asks_itself(self):
        token = self.token()
        address = f"127.0.0.1:{free_port()}"
        of_rank = lambda rank: {"SHOAL_TOKEN": token, "SHOAL_RANK": str(rank), "SHOAL_WORLD_SIZE": str(len(RANKS)), "SHOAL_PS": "1",
                                "SHOAL_EVALUATOR": "1", "SHOAL_RENDEZVOUS": address}
        with Job(flags=["--steps", str(FOREVER), "--step-ms", "5", "--heartbeat-secs", "1"], token=token) as job:
            self.assertEqual(shoal_status("--live", **of_rank(2))[0], 0)  # nobody is there who could answer
            tasks = [job.start("local", **of_rank(0))]
            tasks[0].wait_for("rendezvous at")
            status, said, complaint = shoal_status(address, "--ready", SHOAL_TOKEN=token)
            self.assertEqual((status, said["phase"], said["peers_connected"]), (1, "meeting", 1))
            self.assertIn("the tasks are still meeting; ps 0 is not there", complaint)
            self.assertEqual(shoal_status("--live", **of_rank(2))[0], 1)
            tasks += [job.start("local", **of_rank(rank)) for rank in range(1, len(RANKS))]
            for rank, task in enumerate(RANKS):
                said = until(trains, "--ready", **of_rank(rank))
                self.assertEqual((said["task"], said["role"], said["peers_connected"]), (task, "chief", len(RANKS)))
                self.assertEqual(shoal_status("--live", **of_rank(rank))[0], 0)
            self.assertEqual([peer["task"] for peer in said["peers"]], list(RANKS))
            self.assertEqual(said["server"], said["peers"][1]["address"])
            tasks[3].signal(signal.SIGSTOP)  # the task hangs; its connections stay
            until(lambda status, said: status == 1, "--live", **of_rank(3))
            self.assertEqual(shoal_status("--live", **of_rank(2))[0], 0)
            tasks[3].signal(signal.SIGCONT)
            until(lambda status, said: status == 0, "--live", **of_rank(3))
            tasks[0].kill()
            self.assertEqual(shoal_status("--live", **of_rank(0))[0], 1)
            for rank in (1, 2, 3, 4):
                self.assertEqual(shoal_status("--live", **of_rank(rank))[0], 0)  # the others are not to be killed, too

    def test_a_frozen_asker_holds_nothing_up(self):
        with Job(THREE, ["--steps", "300"]) as job:
            server = job.start("ps 0")
            job.wait_until_it_listens(server)
            host, port = job.address("ps 0").split(":")
            silent = [socket.create_connection((host, int(port))) for _ in range(30)]
            asking = [subprocess.Popen(program("shoal") + ["status", job.address("ps 0")], stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL) for _ in range(10)]
            try:
                for process in asking:  # the first one has come further than the last
                    process.send_signal(signal.SIGSTOP)
                tasks = {"ps 0": server} | {task: job.start(task) for task in ("chief 0", "worker 0")}
                job.expect_all_end(tasks)
            finally:
                for process in asking:
                    process.kill()
                    process.wait()
                for connection in silent:
                    connection.close()
            # The silent ones are, if the job lasts so long.
            refused = [line for line in server.text().replace("Connection refused", "").splitlines() if "refused" in line]
            self.assertEqual([line for line in refused if "did not introduce itself in time" not in line], [])

    @unittest.skipIf(os.environ.get("SHOAL_TEST_SHM") == "0", "this build has no shared memory")
    def test_a_job_in_shared_memory_is_found(self):
        """Neither TF_CONFIG nor an address says by which transport the tasks talk."""
        with Job(("ps 0", "chief 0"), ["--steps", str(FOREVER), "--step-ms", "5", "--transport", "shm"]) as job:
            server = job.start("ps 0")
            job.start("chief 0")
            for address in ([job.address("ps 0")], [f"shm://{job.address('ps 0')}"], []):
                own = {} if address else {"TF_CONFIG": job.tf_config("chief 0")}
                said = until(trains, *address, "--ready", **own)
                self.assertEqual((said["address"], said["role"], said["phase"]), (job.address("ps 0"), "ps", "ready"))
            self.assertEqual(shoal_status("--live", TF_CONFIG=job.tf_config("ps 0"))[0], 0)
            self.assertEqual(shoal_status(f"tcp://{job.address('ps 0')}")[0], 1)
            server.kill()
            status, said, complaint = shoal_status("--live", TF_CONFIG=job.tf_config("ps 0"))
            self.assertEqual((status, said), (1, None))
            self.assertIn("tcp://" + job.address("ps 0"), complaint)  # the reader knows of no shared memory

    def test_a_frozen_server_does_not_answer_in_time(self):
        with Job(("ps 0", "chief 0")) as job:
            server = job.start("ps 0")
            job.wait_until_it_listens(server)
            server.signal(signal.SIGSTOP)
            status, said, complaint = shoal_status("tcp://" + job.address("ps 0"))
            self.assertEqual((status, said), (1, None))
            self.assertIn("a process listens there but does not answer in time; is it stopped, or very busy?", complaint)

    def test_who_takes_the_connection_and_says_nothing_is_given_up(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            address = f"127.0.0.1:{listener.getsockname()[1]}"
            began = time.monotonic()
            status, said, complaint = shoal_status(address, "--timeout-secs", "0.5")
            self.assertIn(status, (1, 5))
            self.assertEqual(said, None)
            self.assertIn(address, complaint)
            self.assertLess(time.monotonic() - began, 5 * SCALE)


if __name__ == "__main__":
    unittest.main(verbosity=2)
