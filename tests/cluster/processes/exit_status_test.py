#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An error ends a process with a sentence and the status of its kind, in time (CONTRACT FA-7, FA-10)."""
import re
import resource
import signal
import socket
import struct
import unittest

from job import FOREVER, SCALE, Job, JobTest, free_port, program

SECONDS_MAX = 20 * SCALE  # for a process that has nothing to wait for
INVALID, NAN_LOSS, DATA_LOSS, DEADLINE, OTHER = 2, 3, 4, 5, 1


def write_images(folder, labels):
    """An MNIST data set of black images."""
    for part in ("train", "t10k"):
        images = struct.pack(">iiii", 0x803, len(labels), 28, 28) + bytes(len(labels) * 28 * 28)
        (folder / f"{part}-images-idx3-ubyte").write_bytes(images)
        (folder / f"{part}-labels-idx1-ubyte").write_bytes(struct.pack(">ii", 0x801, len(labels)) + bytes(labels))


class ExitStatus(JobTest):
    def test_a_port_that_another_process_has(self):
        for task in ("ps 0", "chief 0", "worker 0"):
            with self.subTest(task), Job(("ps 0", "chief 0", "worker 0"), ["--steps", "10"]) as job:
                host, port = job.address(task).split(":")
                with socket.create_server((host, int(port))):
                    self.expect_error(job.start(task), OTHER, job.address(task), "in use")
                    self.assertFalse(job.model_dir.exists())

    def test_peers_that_never_come(self):
        for task, missing in (("chief 0", "ps 0"), ("worker 0", "ps 0"), ("ps 0", None)):
            with self.subTest(task), Job(("ps 0", "chief 0", "worker 0"), ["--steps", "10"]) as job:
                process = job.start(task, "--ready-timeout-secs", "1")
                self.expect_error(process, DEADLINE, job.address(missing) if missing else "chief or workers")

    def test_processes_do_not_meet_inside_of_one(self):
        tasks = ("ps 0", "chief 0", "worker 0", "evaluator 0")
        for task in tasks:
            with self.subTest(task), Job(tasks, ["--steps", "10"]) as job:
                self.expect_error(job.start(task, "--transport", "inproc"), INVALID, "inproc, which connects threads of one process",
                                  "TF_CONFIG makes this process one task of several: leave it out, or say auto")
                self.assertFalse(job.model_dir.exists())
        with Job(("chief 0",), ["--steps", "10", "--transport", "inproc"]) as job:  # the task has no peers
            job.expect_all_end({"chief 0": job.start("chief 0")})

    def test_a_worker_without_a_chief(self):
        with Job(("ps 0", "chief 0", "worker 0"), ["--steps", "10", "--ready-timeout-secs", "2"]) as job:
            job.start("ps 0")
            self.expect_error(job.start("worker 0"), DEADLINE, "chief")

    def test_a_second_chief_for_the_same_servers(self):
        flags = ["--steps", str(FOREVER), "--step-ms", "1", "--heartbeat-secs", str(0.3 * SCALE)]
        with Job(("ps 0", "chief 0"), flags) as job:
            first = job.start_all()["chief 0"]
            first.wait_for("at step")
            job.model_dir = job.folder / "another"  # the first job's lock would refuse this one
            def refused(held_by, own):
                # A chief that no server has let lead has not begun a run in its folder, and so may have no id to tell.
                return (rf"another chief is connected \(run .*/{held_by}; this one: (?:run \w+ of )?trainee, .*/{own}\), "
                        "from tcp://127.0.0.1:.* since .* UTC, and alive", "end that one first")

            self.expect_error(job.start("chief 0", "--bind", f"127.0.0.1:{free_port()}"), OTHER, *refused("m", "another"))
            first.wait_for("at step", after=first.written())
            first.signal(signal.SIGSTOP)  # silent for three heartbeats, so another process takes its place
            job.start("chief 0", "--bind", f"127.0.0.1:{free_port()}").wait_for("at step")
            first.signal(signal.SIGCONT)
            self.expect_error(first, OTHER, *refused("another", "m"))

    def test_a_model_dir_that_cannot_be(self):
        for task in ("local", "chief 0"):
            with self.subTest(task), Job(("ps 0", "chief 0"), ["--steps", "10"]) as job:
                job.model_dir = job.folder / "file" / "m"
                job.model_dir.parent.write_text("a file, not a folder")
                self.expect_error(job.start(task), INVALID, re.escape(str(job.model_dir)))

    def test_a_disk_that_becomes_full(self):
        with Job(flags=["--units", "512"]) as job:
            process = job.start("local", "--steps", str(FOREVER))
            process.wait_for("written at global step 10")
            # The limit leaves files room for a log line: the next checkpoint does not fit.
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (20_000, 20_000))
            self.expect_error(process, OTHER, "was not saved", re.escape(str(job.model_dir)))
            newest = job.newest_step()
            self.assertGreaterEqual(newest, 10)
            again = job.start("local", "--steps", str(newest + 10))
            self.assertEqual(again.wait(), 0)
            again.wait_for(rf"restored from checkpoint \S+ at global step {newest}\n")

    def test_a_wrong_cluster_description(self):
        for text, sentence in (("{", "TF_CONFIG"), ("[]", "TF_CONFIG"),
                               ('{"cluster": {"chief": ["h:1"]}, "task": {"type": "wrker", "index": 0}}', "wrker"),
                               ('{"cluster": {"chief": ["h"]}, "task": {"type": "chief", "index": 0}}', "host:port"),
                               ('{"cluster": {"chief": ["h:1"]}, "task": {"type": "chief", "index": 1}}', "index")):
            with self.subTest(text), Job(flags=["--steps", "10"]) as job:
                self.expect_error(job.start(tf_config=text), INVALID, sentence)
                self.assertFalse(job.model_dir.exists())

    def test_an_unknown_flag(self):
        with Job() as job:
            self.expect_error(job.start("local", "--stepz", "10"), INVALID, "stepz")

    def test_addresses_beyond_this_machine(self):
        config = '{"cluster": {"chief": ["10.1.2.3:%d"], "ps": ["10.1.2.4:4000"]}, "task": {"type": "chief", "index": 0}}'
        with Job(flags=["--steps", "10"]) as job:
            self.expect_error(job.start(tf_config=config % free_port()), INVALID, "--insecure", "shoal keys token", "--token-file")
            self.assertFalse(job.model_dir.exists())

    def test_an_image_file_cut_short(self):
        with Job(flags=["--steps", "10", "--batch", "4"]) as job:
            write_images(job.folder, [1, 2, 3, 4])
            images = job.folder / "train-images-idx3-ubyte"
            images.write_bytes(images.read_bytes()[:-1])
            process = job.start("local", "--data-dir", str(job.folder), command=program("mnist"))
            self.expect_error(process, DATA_LOSS, images.name)

    def test_a_wrong_label(self):
        with Job(flags=["--steps", "10", "--batch", "4"]) as job:
            write_images(job.folder, [1, 2, 11, 4])
            process = job.start("local", "--data-dir", str(job.folder), command=program("mnist"))
            self.expect_error(process, INVALID, r"\b11\b")

    def test_a_loss_that_is_no_number(self):
        with Job(flags=["--steps", "1000", "--learning-rate", "1e38"]) as job:
            self.expect_error(job.start(), NAN_LOSS, "NaN at global step")
            self.assertIsNone(job.finished())

    def test_a_loss_that_is_no_number_on_the_chief_ends_the_job(self):
        tasks = ("ps 0", "chief 0", "worker 0")
        with Job(tasks, ["--steps", str(FOREVER), "--step-ms", "1"]) as job:
            running = {task: job.start(task) for task in ("ps 0", "worker 0")}
            running["ps 0"].wait_for("worker 0 is connected")
            self.expect_error(job.start("chief 0", "--learning-rate", "1e38"), NAN_LOSS, "NaN")
            for process in running.values():
                # The worker may meet the same weights, or see first that the chief has another learning rate.
                self.assertIn(process.wait(SECONDS_MAX), (0, INVALID, NAN_LOSS))
            self.assertIsNone(job.finished())

    def test_checkpoints_that_are_damaged(self):
        with Job(flags=["--save-checkpoints-steps", "10"]) as job:
            self.assertEqual(job.start("local", "--steps", "20").wait(), 0)
            for data in job.model_dir.glob("model.ckpt-*.data-*"):
                bits = bytearray(data.read_bytes())
                bits[-1] ^= 1
                data.write_bytes(bits)
            self.expect_error(job.start("local", "--steps", "30"), DATA_LOSS, "model.ckpt-")

    def test_the_newest_checkpoint_is_damaged(self):
        with Job(flags=["--save-checkpoints-steps", "10"]) as job:
            self.assertEqual(job.start("local", "--steps", "20").wait(), 0)
            (data,) = job.model_dir.glob("model.ckpt-20.data-*")
            data.write_bytes(data.read_bytes()[:-100])
            again = job.start("local", "--steps", "30")
            self.assertEqual(again.wait(), 0)
            again.wait_for(r"restored from checkpoint \S+ at global step 10\n")
            self.assertEqual(job.newest_step(), 30)


if __name__ == "__main__":
    unittest.main(verbosity=2)
