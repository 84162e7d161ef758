#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The files that people have: ResNet-20 on a folder of PNG pictures with random crops and flips, and MNIST as TFRecord files of tf.Example. Each is
trained by a synchronous cluster of processes (chief, two workers, a server) and by one process with --replicas 3, with the same bits;
pictures are told apart, and digits are read right in 99 of 100."""
import json
import os
import pathlib
import subprocess
import tempfile
import time

import outcome
from job import program

SECONDS_MAX = 1500


def checksums(model_dir, steps):
    """Of the variables and slots of the last checkpoint, by name."""
    index = json.loads((model_dir / f"model.ckpt-{steps}.index").read_text())
    return {tensor["name"]: [piece["checksum"] for piece in tensor["pieces"]] for tensor in index["manifest"]["tensors"]}


def run(command, folder, **variables):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SHOAL_")}
    ended = subprocess.run(command, env=kept | variables | {"TMPDIR": folder}, cwd=folder, text=True, stdin=subprocess.DEVNULL,
                           capture_output=True, timeout=SECONDS_MAX)
    if ended.returncode != 0:
        raise AssertionError(f"{' '.join(command)}: status {ended.returncode}:\n{ended.stderr[-3000:]}")
    return ended.stdout


def train_twice(folder, name, steps, flags, least):
    """The accuracy, once a cluster and a process with its replicas have ended with the same bits."""
    # The backend whose bits do not depend on the number of threads.
    flags = ["--backend", "portable", "--seed", "11", "--steps", str(steps), "--throttle-secs", "0", "--save-checkpoints-steps", str(steps), "--json", *flags]
    models = [pathlib.Path(folder, name + "-cluster"), pathlib.Path(folder, name + "-alone")]
    launch = program("shoal") + ["launch", "--no-logs", "--ps", "1", "--workers", "2", "--", *program(name)]
    run([*launch, "--model-dir", str(models[0]), "--strategy", "sync", *flags], folder)
    said = run([*program(name), "--model-dir", str(models[1]), "--replicas", "3", *flags], folder)
    cluster, alone = (checksums(model, steps) for model in models)
    others = [tensor for tensor in alone if cluster.get(tensor) != alone[tensor]]
    if others or len(alone) < 10:
        raise AssertionError(f"{name}: of {len(alone)} tensors {len(others)} differ, as {(others + list(alone))[0]}")
    accuracy = json.loads(next(line for line in said.splitlines() if line.startswith("{")))["accuracy"]
    if accuracy < least:
        raise AssertionError(f"{name}: {accuracy:.2%} are right, and {least:.0%} have to be")
    return accuracy


def body():
    data = os.environ.get("SHOAL_DATA", "")
    if not os.path.isdir(data):
        raise outcome.Skip("SHOAL_DATA does not name a folder with MNIST")
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        run([*program("cifar"), "--seed", "1", "--write-pictures", folder + "/pictures"], folder)
        pictures = train_twice(folder, "cifar", 200, ["--pictures", folder + "/pictures", "--batch", "16", "--learning-rate", "0.05"], 0.8)
        run([*program("mnist"), "--data-dir", data, "--write-records", folder + "/records"], folder)
        digits = train_twice(folder, "mnist", 1500, ["--records", folder + "/records", "--model", "cnn", "--batch", "32"], 0.99)
    return {"seconds": time.monotonic() - begun,
            "how": f"equal bits twice; {pictures:.2%} of the pictures and {digits:.2%} of the digits are right"}


if __name__ == "__main__":
    outcome.end_with(body)
