# SPDX-License-Identifier: Apache-2.0
"""Runs ONNX models in Python's onnxruntime: run_onnx.py JOBS.json RESULTS.json. See onnx_runtime.h for the two files."""
import json
import sys

import numpy
import onnxruntime


def read(tensor):
    if tensor["type"] == "string":
        with open(tensor["file"], encoding="utf-8") as file:
            return numpy.array(json.load(file), dtype=object).reshape(tensor["shape"])
    return numpy.fromfile(tensor["file"], dtype=tensor["type"]).reshape(tensor["shape"])


def write(name, value, path):
    if value.dtype == object:
        with open(path, "w", encoding="utf-8") as file:
            json.dump([str(text) for text in value.flatten()], file)
        return {"name": name, "type": "string", "shape": value.shape, "file": path}
    value.tofile(path)
    return {"name": name, "type": value.dtype.name, "shape": value.shape, "file": path}


def run(job):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(job["model"], options, providers=["CPUExecutionProvider"])
    wanted = {value.name for value in session.get_inputs()}
    feeds = {tensor["name"]: read(tensor) for tensor in job["inputs"] if tensor["name"] in wanted}
    names = [value.name for value in session.get_outputs()]
    values = session.run(names, feeds)
    return {"outputs": [write(name, numpy.asarray(value), f"{job['out']}.{i}")
                        for i, (name, value) in enumerate(zip(names, values))]}


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        jobs = json.load(file)
    results = []
    for job in jobs:
        try:
            results.append(run(job))
        except Exception as error:  # Whatever the runtime says of a model is a result of its job.
            results.append({"error": str(error)})
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        json.dump(results, file)


main()
