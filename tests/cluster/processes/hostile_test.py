#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hostile peers hammer the ports of a running job, which ends with the same bits as without them."""
import os
import re
import shutil
import socket
import unittest

import attackers as attacks
from attackers import Attackers, Tap
from job import SCALE, Authority, Job, make_token

TASKS = ("ps 0", "ps 1", "chief 0")
STEPS = 2000
FLAGS = ["--steps", str(STEPS), "--seed", "7", "--save-checkpoints-steps", "500", "--batch", "4"]
ROUNDS = 1  # the least number of rounds, of each attack at each address, before the job may go on at full speed


def weights(job):
    """The bytes of the last checkpoint: weights, slots, counters."""
    step = job.newest_step()
    if step != STEPS:
        raise AssertionError(f"the job ended at step {step}")
    files = sorted(job.model_dir.glob(f"model.ckpt-{step}.data-*"))
    return [(file.name, file.read_bytes()) for file in files]


def hello_of_a_stranger():
    """The first message of another job's chief."""
    with Job(("ps 0", "chief 0"), ["--steps", "10"]) as other:
        host, port = other.address("ps 0").split(":")
        with socket.create_server((host, int(port))) as listener:
            other.start("chief 0")
            return attacks.first_message(listener)


def name_of_key(client_hello):
    """The name of the pre-shared key, which a ClientHello has in its last extension (RFC 8446, section 4.2.11)."""
    at = client_hello.rindex(b"\x00\x29")
    size = int.from_bytes(client_hello[at + 6:at + 8], "big")
    return client_hello[at + 8:at + 8 + size]


class Hostile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with Job(TASKS, FLAGS) as job:
            job.expect_all_end(job.start_all())
            cls.undisturbed = weights(job)

    def run_attacked(self, job, add_attacks, flags_of=lambda task: ()):
        """`add_attacks(attackers, tap, address)`, with a tap between the chief and ps 0. Returns the ended processes."""
        host, port = job.address("ps 0").split(":")
        behind = f"127.0.0.2:{port}"
        addresses = [behind, job.address("ps 1"), job.address("chief 0")]
        hurry = job.folder / "hurry"
        tap = Tap((host, int(port)), ("127.0.0.2", int(port)))
        try:
            with Attackers(addresses, job.seed) as attackers:  # before there are any servers
                add_attacks(attackers, tap, behind)
                slowly = ("--step-ms", str(10 * SCALE), "--hurry", str(hurry))
                own_flags = {"ps 0": ("--bind", behind), "ps 1": (), "chief 0": slowly}
                tasks = {task: job.start(task, *own, *flags_of(task)) for task, own in own_flags.items()}
                tasks["chief 0"].wait_for("at step 1")
                attackers.wait_for_rounds(ROUNDS)
                self.assertTrue(tasks["chief 0"].runs(), "the job was over before the attack")
                hurry.touch()
                job.expect_all_end(tasks)
        finally:
            tap.close()
        self.assertEqual(job.finished()["reason"], "max_steps")
        self.assertTrue(weights(job) == self.undisturbed, "the last checkpoint differs from that of an undisturbed run")
        return tasks

    def expect_refusals(self, process, *causes):
        for cause in causes:
            self.assertRegex(process.text(), rf"refused .*{cause}")
        self.assertLess(len(process.text()), 100_000)  # attackers cannot fill a disk by the log

    def test_a_job_on_one_machine(self):
        stranger = attacks.preamble() + hello_of_a_stranger()
        lengths = [(attacks.CONTROL, 1 << 40), (attacks.CHUNK, 1 << 63), (attacks.HELLO, 65537), (attacks.ERROR, 2**64 - 1)]
        oversized = [attacks.preamble() + head for head in attacks.frame_heads(*lengths)]
        (unexpected,) = attacks.frame_heads((attacks.PULL, 0))

        def add_attacks(attackers, tap, behind):
            for attack in (attacks.noise, attacks.noise_like_tls, attacks.half_a_preamble, attacks.another_protocol,
                           attacks.garbage_after_the_handshake, attacks.flood, attacks.slow_loris):
                attackers.add(attack)
            attackers.add(attacks.sending("oversized", *oversized))
            attackers.add(attacks.sending("unexpected", attacks.preamble() + unexpected))
            attackers.add(attacks.sending("stranger", stranger))
            attackers.add(attacks.sending("stranger_cut_short", stranger, cut=True))
            attackers.add(attacks.replaying(tap, behind))

        with Job(TASKS, FLAGS) as job:
            tasks = self.run_attacked(job, add_attacks)
            for server in ("ps 0", "ps 1"):
                self.expect_refusals(tasks[server], "does not speak Shoal's protocol", "it speaks protocol 8",
                                     "announced a message of", "different job", "has a token or a certificate, but this task has neither")

    @unittest.skipIf(os.environ.get("SHOAL_TEST_TLS") == "0", "this build has no TLS")
    def test_a_job_with_a_token(self):
        self.assertIsNotNone(shutil.which("openssl"), "the openssl program is missing")

        def add_attacks(attackers, tap, behind):
            def name():
                recorded = tap.recorded()
                return name_of_key(recorded[:5 + int.from_bytes(recorded[3:5], "big")]) if recorded else b"a name"

            for attack in (attacks.noise, attacks.noise_like_tls, attacks.plain, attacks.half_a_preamble, attacks.flood,
                           attacks.slow_loris, attacks.garbage_after_the_handshake):
                attackers.add(attack)
            attackers.add(attacks.replaying(tap, behind))
            attackers.add(attacks.meeting_by_psk(name))

        with Job(TASKS, FLAGS, token=make_token()) as job:
            tasks = self.run_attacked(job, add_attacks)
            for server in ("ps 0", "ps 1"):
                self.expect_refusals(tasks[server], "does not speak Shoal's protocol", "it has no token", "has another token")
            self.assertEqual(re.findall(job.token[:16], "".join(process.text() for process in job.started)), [])

    @unittest.skipIf(os.environ.get("SHOAL_TEST_TLS") == "0", "this build has no TLS")
    def test_a_job_with_certificates(self):
        self.assertIsNotNone(shutil.which("openssl"), "the openssl program is missing")
        with Job(TASKS, FLAGS) as job:
            authority, other = Authority(job.folder / "keys"), Authority(job.folder / "other")
            certificates = {"of_another_ca": other.tls_dir("chief 0"), "expired": authority.expired_tls_dir("chief 0")}

            def add_attacks(attackers, tap, behind):
                for attack in (attacks.noise, attacks.noise_like_tls, attacks.plain, attacks.half_a_preamble, attacks.flood,
                               attacks.slow_loris, attacks.garbage_after_the_handshake):
                    attackers.add(attack)
                attackers.add(attacks.replaying(tap, behind))
                attackers.add(attacks.meeting_by_psk(lambda: b"a name"))
                for name, folder in certificates.items():
                    attackers.add(attacks.meeting_by_certificate(name, folder))

            tasks = self.run_attacked(job, add_attacks, lambda task: ("--tls-dir", authority.tls_dir(task)))
            for server in ("ps 0", "ps 1"):
                self.expect_refusals(tasks[server], "does not speak Shoal's protocol", "its certificate has expired",
                                     "its certificate is not from a CA that this task trusts")


if __name__ == "__main__":
    unittest.main(verbosity=2)
