#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs whose processes are told rank, size and an address, as torchrun, Open MPI and others do, and no more (CONTRACT
LA-2)."""
import os
import re
import signal
import socket
import unittest

from job import FOREVER, Authority, Job, JobTest, free_port, make_token, program

RANKS = 4  # a chief, two servers, a worker
TF_CONFIG_TASKS = ("chief 0", "ps 0", "ps 1", "worker 0")  # the same in the order of ranks
BITS_FLAGS = ["--seed", "7", "--steps", "12", "--batch", "8", "--strategy", "sync"]
BITS = re.compile(r"bits of step (\d+): ([0-9a-f]{16} of \d+ variables)")


def torchrun_variables(rank, port, size=RANKS, host="127.0.0.1"):
    return {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(size), "LOCAL_WORLD_SIZE": str(size),
            "MASTER_ADDR": host, "MASTER_PORT": str(port), "TORCHELASTIC_RUN_ID": "none"}


def open_mpi_variables(rank, job, size=RANKS):
    return {"OMPI_COMM_WORLD_RANK": str(rank), "OMPI_COMM_WORLD_SIZE": str(size), "OMPI_COMM_WORLD_LOCAL_RANK": str(rank),
            "OMPI_COMM_WORLD_LOCAL_SIZE": str(size), "OMPI_COMM_WORLD_NODE_RANK": str(rank), "OMPI_UNIVERSE_SIZE": str(size),
            "OMPI_MCA_ess_base_jobid": job, "PMIX_NAMESPACE": job, "PMIX_RANK": str(rank)}


def bits_of(*processes):
    bits = {}
    for process in processes:
        for step, said in BITS.findall(process.text()):
            if bits.setdefault(step, said) != said:
                raise AssertionError(f"step {step} had {bits[step]}, and then {said}")
    return bits


class Rendezvous(JobTest):
    def start_rank(self, job, rank, variables, *flags, command=None):
        process = job.start("local", "--ps", "2", *flags, command=command, **variables)
        process.name = f"rank {rank}"
        return process

    def expect_bits(self, bits):
        with Job(TF_CONFIG_TASKS, BITS_FLAGS) as job:
            processes = {task: job.start(task, command=program("bits")) for task in TF_CONFIG_TASKS}
            job.expect_all_end(processes)
            expected = bits_of(processes["chief 0"])
        self.assertEqual(len(expected), 13)
        self.assertEqual(bits, {step: expected[step] for step in bits})
        self.assertIn("12", bits)

    def test_torchrun_with_kills_gives_the_bits_of_tf_config(self):
        port = free_port()
        with Job(flags=BITS_FLAGS + ["--step-ms", "40"]) as job:
            start = lambda rank: self.start_rank(job, rank, torchrun_variables(rank, port), command=program("bits"))
            processes = {rank: start(rank) for rank in job.numbers.sample(range(RANKS), RANKS)}
            first_chief = processes[0]
            first_chief.wait_for("bits of step 4:")
            listens = processes[1].wait_for(r"parameter server at (\S+),").group(1)
            for rank in (0, 1):  # the rendezvous and a server, at once
                processes[rank].kill()
            for rank in (1, 0):
                processes[rank] = start(rank)
            job.expect_all_end(processes)
            self.assertEqual(processes[1].wait_for(r"parameter server at (\S+),").group(1), listens)
            processes[0].wait_for("knows this job; everybody's address is as before")
            self.expect_bits(bits_of(first_chief, processes[0]))

    def test_open_mpi_gives_the_bits_of_tf_config(self):
        with Job(flags=BITS_FLAGS + ["--transport", "auto"]) as job:
            name = str(job.numbers.randrange(2**31))
            processes = {rank: self.start_rank(job, rank, open_mpi_variables(rank, name), command=program("bits"))
                         for rank in range(RANKS)}
            job.expect_all_end(processes)
            processes[3].wait_for("open-mpi: rank 3 of 4 is worker 0")
            self.expect_bits(bits_of(processes[0]))

    def test_who_holds_another_token_or_none_is_not_let_in(self):
        port = free_port()
        with Job(flags=["--steps", "10"], token=make_token()) as job:
            self.start_rank(job, 0, torchrun_variables(0, port)).wait_for("rendezvous at .*, waiting for 3 other ranks")
            other = self.start_rank(job, 1, torchrun_variables(1, port) | {"SHOAL_TOKEN": make_token()})
            self.expect_refusal(other, "has another token", "same token")
            without = self.start_rank(job, 2, torchrun_variables(2, port) | {"SHOAL_TOKEN": None})
            self.expect_refusal(without, "this task has none")
            # Beyond this machine there has to be a token.
            far = torchrun_variables(1, port, host="node-0.invalid") | {"SHOAL_TOKEN": None}
            self.expect_refusal(self.start_rank(job, 1, far), "beyond this machine", "shoal keys token")

    @unittest.skipIf(os.environ.get("SHOAL_TEST_TLS") == "0", "this build has no TLS")
    def test_certificates_meet_as_tokens_do(self):
        port = free_port()
        with Job(flags=BITS_FLAGS) as job:
            authority, other = Authority(job.folder / "keys"), Authority(job.folder / "other")
            start = lambda rank, keys, command=program("bits"): self.start_rank(
                job, rank, torchrun_variables(rank, port), "--tls-dir", keys, command=command)
            first = start(0, authority.tls_dir("chief 0"))
            first.wait_for("rendezvous at .*, waiting for 3 other ranks")
            # Certificates of another CA and of another rank, and a token where certificates are wanted.
            self.expect_refusal(start(1, other.tls_dir("ps 0")), "is not from a CA that this task trusts")
            self.expect_refusal(start(3, authority.tls_dir("ps 1")), r"rank 3 \(worker 0\) has come with the certificate of ps 1")
            with_token = self.start_rank(job, 1, torchrun_variables(1, port) | {"SHOAL_TOKEN": make_token()})
            self.expect_refusal(with_token, "has a certificate, but this task has a token")
            processes = {rank: start(rank, authority.tls_dir(TF_CONFIG_TASKS[rank])) for rank in (1, 2, 3)}
            job.expect_all_end({0: first} | processes)
            self.expect_bits(bits_of(first))

    def test_a_signal_ends_the_wait_and_a_taken_port_is_told(self):
        with Job(flags=["--steps", str(FOREVER)]) as job:
            port = free_port()
            waiting = [self.start_rank(job, rank, torchrun_variables(rank, port)) for rank in (0, 1)]
            waiting[0].wait_for("rendezvous at")
            with socket.create_server(("127.0.0.1", free_port())) as taken:
                late = self.start_rank(job, 0, torchrun_variables(0, taken.getsockname()[1]))
                self.expect_error(late, 1, "the rendezvous of this job", "Address already in use")
            self.expect_error(self.start_rank(job, 3, torchrun_variables(3, free_port()), "--ready-timeout-secs", "1"), 5,
                              r"waiting for rank 0 \(chief 0\) at the rendezvous 127.0.0.1:")
            for process in waiting:
                process.signal(signal.SIGTERM)
            for process in waiting:
                self.assertEqual(process.wait(), 0, process.text())
                process.wait_for("interrupted before training began")
            self.assertFalse(job.model_dir.exists())


if __name__ == "__main__":
    unittest.main(verbosity=2)
