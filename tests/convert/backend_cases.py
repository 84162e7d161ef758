# SPDX-License-Identifier: Apache-2.0
"""Writes the cases by which ONNX itself tests runtimes, with what numpy gives for them: backend_cases.py CASES.json PREFIX.

CASES.json is a list of {"name", "model", "inputs": [tensor], "outputs": [tensor]} with tensors as in onnx_runtime.h. Files begin with
PREFIX. A case is left out where its op has changed since opset 17, or where a tensor is of a type that Shoal does not have."""
import importlib
import json
import sys

import numpy
import onnx

MODULES = """abs add and argmax averagepool batchnorm cast clip concat constant constantofshape conv convtranspose cos div elu
equal erf exp expand eyelike flatten gather gatherelements gemm greater greater_equal gru identity isnan layernormalization leakyrelu less
less_equal log logsoftmax lstm matmul max maxpool min mul neg not onehot or pad pow rangeop reciprocal reducemax reducemean
reducesum reducesumsquare relu reshape shape sigmoid sin size slice softmax softplus split sqrt squeeze sub tanh topk transpose
unsqueeze where""".split()
TYPES = {"float32", "int32", "int64", "uint8", "bool"}

# Names that numpy 1.24 has no more, and that ONNX 1.12 uses.
for name, kind in {"float": float, "int": int, "bool": bool, "object": object}.items():
    if name not in numpy.__dict__:
        setattr(numpy, name, kind)


def is_known(tensor):
    return isinstance(tensor, (numpy.ndarray, numpy.generic)) and numpy.asarray(tensor).dtype.name in TYPES


def write(name, tensor, path):
    tensor = numpy.asarray(tensor)
    tensor.tofile(path)
    return {"name": name, "type": tensor.dtype.name, "shape": list(tensor.shape), "file": path}


def write_case(number, case, prefix):
    model = case.model
    for opset in model.opset_import:
        if opset.domain == "":
            if opset.version > 17:
                return None
            opset.version = 17
    for node in model.graph.node:
        if onnx.defs.get_schema(node.op_type, node.domain).since_version > 17:
            return None
    inputs, outputs = case.data_sets[0]
    if not all(is_known(tensor) for tensor in [*inputs, *outputs]):
        return None
    model.ir_version = 8
    path = f"{prefix}{number}_{case.name}"  # Some have one name.
    onnx.save(model, path)
    names = [value.name for value in model.graph.input], [value.name for value in model.graph.output]
    return {"name": case.name, "model": path,
            "inputs": [write(name, tensor, f"{path}.in{i}") for i, (name, tensor) in enumerate(zip(names[0], inputs))],
            "outputs": [write(name, tensor, f"{path}.out{i}") for i, (name, tensor) in enumerate(zip(names[1], outputs))]}


def main():
    package = importlib.import_module("onnx.backend.test.case.node")
    package._TargetOpType = None
    for module in MODULES:
        importlib.import_module("onnx.backend.test.case.node." + module)
    cases = [write_case(i, case, sys.argv[2]) for i, case in enumerate(package._NodeTestCases)]
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump([case for case in cases if case], file)


main()
