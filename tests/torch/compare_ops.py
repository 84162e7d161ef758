# SPDX-License-Identifier: Apache-2.0
"""Every op of the catalogue against PyTorch: values, and gradients by autograd, over the cases of tests/conformance.

    compare_ops.py [--case SUBSTRING] [--dtype float64|float32] [--compute-dtype float32|bfloat16] [--list] [--]
        <dump_op_cases>

dump_op_cases writes the graphs of the cases and what each backend makes of them. The forward nodes of a graph are evaluated
here by mirrors, the functions of ops_*.py, found by the name of the op:

    def <op>(inputs, attributes): -> tuple of the outputs

`inputs` are tensors, in the order of the op's inputs; `attributes` is the node's {name: value}, for random ops with
"sequence", the key of the node's random numbers in this step (see philox.py). A mirror calls PyTorch's own function for the
thing wherever it has one. Floats are float64 (torch.get_default_dtype()), so what is compared with is nearly exact.

A tensor of floats passes if for each element e expected and a computed

    |a - e| <= 2e-6 * (largest magnitude in the tensor) + 1e-5 * |e| + 1e-7,

and infinities and NaNs are where they are expected: the rule of tests/conformance (expect_close). All else must be equal, and
shapes always are. Gradients are those of sum(weight * output) over the float outputs. Where a case names no operands to
differentiate for (too large for finite differences, say), all its float operands are taken.

With --compute-dtype bfloat16 the backends multiply in bfloat16, and a tensor of floats passes if its elements are within 1e-2
of the largest magnitude in what PyTorch computes without rounding. They are compared once more, within 1e-3, with PyTorch's
products of operands (of gradients too) that PyTorch has rounded to torch.bfloat16.

An op of the catalogue without a mirror fails, and so does a mirror without an op. Ops that only stand in gradients ("grad" is
a word of their name) need none: autograd is what they are compared with, and each must occur in a compared gradient.

Exit status: 0 all agree, 1 not, 77 skipped.
"""
import argparse
import base64
import collections
import glob
import importlib
import inspect
import json
import os
import subprocess
import sys
import tempfile

SKIPPED = 77

try:
    import numpy
    import torch
except ImportError as error:
    print(f"skipped: {error} (Debian: python3-torch)")
    sys.exit(SKIPPED)

sys.dont_write_bytecode = True  # the source tree stays as it is
import philox  # noqa: E402

# Ops that are compared nowhere, and why.
WITHOUT_MIRROR = {}

# Cases whose gradients are a matter of convention, and which (the values are compared all the same).
SATURATED = "1 - y and 1 - y^2 cancel where y is 1 but for its last bits; float32 cannot be within 1e-5 of float64 there"
GRADIENTS_NOT_COMPARED = {"sigmoid_far_out": SATURATED, "tanh_far_out": SATURATED}


class Mistake(Exception):
    """Something that makes the case fail, in words."""


def mirrors():
    """The functions of ops_*.py by name."""
    found = {}
    for path in sorted(glob.glob(os.path.join(os.path.dirname(os.path.abspath(__file__)), "ops_*.py"))):
        module = importlib.import_module(os.path.basename(path)[:-3])
        for name, function in inspect.getmembers(module, inspect.isfunction):
            if name.startswith("_") or function.__module__ != module.__name__:
                continue
            if name in found:
                raise Mistake(f"{name} has two mirrors, in {found[name].__module__} and {module.__name__}")
            found[name] = function
    return found


def is_gradient_op(name):
    return "grad" in name.split("_")


class Dump:
    """What dump_op_cases wrote."""

    def __init__(self, program, folder):
        subprocess.run([*program, folder], check=True)
        with open(os.path.join(folder, "cases.json")) as file:
            self.cases = json.load(file)
        with open(os.path.join(folder, "tensors.bin"), "rb") as file:
            self.bytes = file.read()

    def array(self, place):
        return array_of(self.bytes, place["dtype"], place["shape"], place["offset"])


def array_of(data, dtype, shape, offset=0):
    count = int(numpy.prod(shape, dtype=numpy.int64))
    values = numpy.frombuffer(data, numpy.dtype(dtype), count, offset) if count else numpy.zeros(0, dtype)
    return values.reshape(shape).copy()


def tensor_of(array):
    tensor = torch.from_numpy(array)
    return tensor.to(torch.get_default_dtype()) if tensor.is_floating_point() else tensor


class RoundFactor(torch.autograd.Function):
    """To bfloat16 and back; the gradient passes as it is."""

    @staticmethod
    def forward(context, x):
        return x.to(torch.bfloat16).to(x.dtype)

    @staticmethod
    def backward(context, gradient):
        return gradient


class RoundGradient(torch.autograd.Function):
    """Rounds what comes back instead."""

    @staticmethod
    def forward(context, x):
        return x.clone()

    @staticmethod
    def backward(context, gradient):
        return gradient.to(torch.bfloat16).to(gradient.dtype)


def in_bfloat16(product):
    """The mirror of a product, with factors that are rounded, in its gradients too. A bias has the gradient as it comes."""
    def rounded(inputs, attributes):
        a, b, *bias = inputs
        a, b = RoundFactor.apply(a), RoundFactor.apply(b)
        y, = product([a, b, *(x.detach() for x in bias)], attributes)
        y = RoundGradient.apply(y)
        if bias:
            through_bias, = product([a.detach(), b.detach(), *bias], attributes)
            y = y + (through_bias - through_bias.detach())
        return (y,)
    return rounded


PRODUCTS = ("dense", "matmul", "matmul_sum", "conv2d", "conv2d_transpose")


class Rule:
    """How far from what is expected a float may be: these shares of the largest magnitude and of itself."""

    def __init__(self, of_largest, of_element):
        self.of_largest = of_largest
        self.of_element = of_element

    def allowed(self, expected, largest):
        return self.of_largest * largest + self.of_element * numpy.abs(expected) + 1e-7


FLOAT32 = Rule(2e-6, 1e-5)
BFLOAT16 = Rule(1e-2, 0)
BFLOAT16_ROUNDED = Rule(1e-3, 0)


def attribute_value(attribute):
    (kind, value), = attribute.items()
    if kind == "real":
        return float(value)
    if kind == "int":
        return int(value)
    return [int(item) for item in value] if kind == "ints" else value


class Evaluation:
    """The forward nodes of one graph, each evaluated when it is first asked for."""

    def __init__(self, graph, feeds, step, functions):
        self.nodes = graph["nodes"]
        self.seed = int(graph["seed"])
        self.feeds = feeds
        self.step = step
        self.functions = functions
        self.values = {}

    def value(self, node, output):
        waiting = [node]  # a stack of our own: graphs may be deeper than Python's
        while waiting:
            missing = [source for source, _ in self.nodes[waiting[-1]]["inputs"] if source not in self.values]
            if missing:
                waiting.extend(missing)
                continue
            last = waiting.pop()
            if last not in self.values:
                self.values[last] = self.compute(self.nodes[last])
        return self.values[node][output]

    def compute(self, node):
        if node["op"] in ("input", "variable"):
            return (self.feeds[node["name"]],)
        if node["op"] == "constant":
            kind = node["outputs"][0]
            return (tensor_of(array_of(base64.b64decode(node["constant"]), kind["dtype"], kind["shape"])),)
        function = self.functions.get(node["op"])
        if function is None:
            raise Mistake(f"an output of the case needs {node['op']}, which has no mirror in tests/torch/ops_*.py")
        attributes = {name: attribute_value(value) for name, value in node["attributes"].items()}
        if "key" in attributes:
            attributes["sequence"] = philox.random_sequence(self.seed, attributes["key"], *self.step)
        results = function([self.values[source][output] for source, output in node["inputs"]], attributes)
        if not isinstance(results, tuple) or len(results) != len(node["outputs"]):
            raise Mistake(f"the mirror of {node['op']} must return a tuple of {len(node['outputs'])}")
        return results


def disagreement(actual, expected, rule):
    """None if `actual` passes, else the largest offence in words; and the largest share of the allowed difference used."""
    if list(actual.shape) != list(expected.shape):
        return f"shape {list(actual.shape)}, torch has {list(expected.shape)}", 0
    if actual.dtype != numpy.float32 or not numpy.issubdtype(expected.dtype, numpy.floating):
        wrong = numpy.argwhere(actual != expected)
        if actual.dtype == expected.dtype and not len(wrong):
            return None, 0
        if actual.dtype != expected.dtype:
            return f"{actual.dtype}, torch has {expected.dtype}", 0
        return f"element {list(wrong[0])} is {actual[tuple(wrong[0])]}, torch has {expected[tuple(wrong[0])]}", 0
    if not actual.size:
        return None, 0
    finite = numpy.isfinite(expected)
    largest = numpy.abs(expected[finite]).max(initial=0)
    with numpy.errstate(all="ignore"):
        same = (actual == expected) | (numpy.isnan(actual) & numpy.isnan(expected))
        used = numpy.abs(actual.astype(numpy.float64) - expected) / rule.allowed(expected, largest)
        used = numpy.where(same, 0, numpy.where(finite & numpy.isfinite(actual), used, numpy.inf))
    worst = numpy.unravel_index(used.argmax(), used.shape)
    if used[worst] <= 1:
        return None, used[worst]
    count = int((used > 1).sum())
    return (f"{count} of {used.size} elements; {[int(i) for i in worst]} is {actual[worst]!r}, torch has "
            f"{expected[worst]!r} (largest magnitude {largest:.3g})"), used[worst]


class Comparison:
    """Compares case by case and keeps count."""

    def __init__(self, dump, functions, rule):
        self.dump = dump
        self.functions = functions
        self.rule = rule
        self.step = (dump.cases["trainer"], dump.cases["ordinal"])
        self.used = collections.defaultdict(float)
        self.compared = collections.Counter()
        self.gradient_ops = set()  # that occur in a compared gradient
        self.without_gradient = {}
        self.failures = []

    def check(self, case, what, place, expected):
        offence, used = disagreement(self.dump.array(place), expected.detach().numpy(), self.rule)
        self.used[case["op"]] = max(self.used[case["op"]], used)
        self.compared[case["op"]] += 1
        if offence:
            self.failures.append(f"{case['name']}, {what}: {offence}")

    def feeds(self, case):
        feeds = {name: tensor_of(self.dump.array(place)) for name, place in case["feeds"].items()}
        for name in case["wrt"]:
            feeds[name].requires_grad_()
        return feeds

    def compare(self, case):
        feeds = self.feeds(case)
        evaluation = Evaluation(case["graph"], feeds, self.step, self.functions)
        outputs = [evaluation.value(node, output) for node, output in case["outputs"]]
        for backend, results in case["backends"].items():
            for i, expected in enumerate(outputs):
                self.check(case, f"output {i} of {backend}", results["outputs"][i], expected)
        if case["no_gradient"]:
            self.without_gradient[case["name"]] = case["no_gradient"]
        elif case["wrt"] and case["name"] not in GRADIENTS_NOT_COMPARED and not self.crosses_a_kink(case):
            self.compare_gradients(case, feeds, outputs)

    def crosses_a_kink(self, case):
        """A result near 0 that rounding takes to the other side of a relu has another gradient, not one that is a little
        off. Comparing with operands that are rounded too catches what is wrong there."""
        ops = {node["op"] for node in case["graph"]["nodes"]}
        return self.rule is BFLOAT16 and "relu" in ops and not ops.isdisjoint(PRODUCTS)

    def compare_gradients(self, case, feeds, outputs):
        loss = sum((output * tensor_of(self.dump.array(place))).sum()
                   for output, place in zip(outputs, case["weights"]) if place is not None)
        operands = [feeds[name] for name in case["wrt"]]
        gradients = [None] * len(operands)
        if loss.requires_grad:
            gradients = torch.autograd.grad(loss, operands, allow_unused=True)
        for backend, results in case["backends"].items():
            for name, operand, place, expected in zip(case["wrt"], operands, results["gradients"], gradients):
                what = f"gradient for {name} of {backend}"
                expected = torch.zeros_like(operand) if expected is None else expected
                if place is not None:
                    self.check(case, what, place, expected)
                elif expected.count_nonzero():
                    self.failures.append(f"{case['name']}, {what}: there is none, torch has one")
        self.gradient_ops |= {node["op"] for node in case["graph"]["nodes"] if is_gradient_op(node["op"])}

    def compare_all(self, cases):
        for case in cases:
            try:
                self.compare(case)
            except Mistake as mistake:
                self.failures.append(f"{case['name']}: {mistake}")
            except Exception as error:  # of a mirror, or of PyTorch inside it
                self.failures.append(f"{case['name']}: {type(error).__name__}: {error}")

    def check_completeness(self):
        catalogue = set(self.dump.cases["catalogue"])
        for op in sorted(catalogue - set(WITHOUT_MIRROR)):
            if is_gradient_op(op) and op not in self.gradient_ops and op not in self.functions:
                self.failures.append(f"{op} occurs in no compared gradient: tests/conformance needs a case that "
                                     "differentiates through it")
            elif not is_gradient_op(op) and op not in self.functions:
                self.failures.append(f"{op} has no mirror: write one in tests/torch/ops_*.py")
        for op in sorted(set(self.functions) - catalogue):
            self.failures.append(f"{op} in {self.functions[op].__module__}.py mirrors no op of the catalogue")
        for op in sorted(set(WITHOUT_MIRROR) - catalogue):
            self.failures.append(f"{op} stands in WITHOUT_MIRROR but not in the catalogue")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs="+", help="dump_op_cases, after the emulator that runs it, if one does")
    parser.add_argument("--case", default="", help="only cases whose name contains this; completeness is not checked then")
    parser.add_argument("--dtype", choices=("float64", "float32"), default="float64", help="of PyTorch's side")
    parser.add_argument("--compute-dtype", choices=("float32", "bfloat16"), default="float32", help="of Shoal's side")
    parser.add_argument("--list", action="store_true", help="the figures of each op")
    options = parser.parse_args()
    comparisons = [("", mirrors(), FLOAT32)]
    if options.compute_dtype == "bfloat16":
        rounding = {name: in_bfloat16(mirror) if name in PRODUCTS else mirror for name, mirror in mirrors().items()}
        comparisons = [("", mirrors(), BFLOAT16), (" of rounded operands", rounding, BFLOAT16_ROUNDED)]

    torch.set_num_threads(1)
    torch.set_default_dtype(getattr(torch, options.dtype))
    with tempfile.TemporaryDirectory() as folder:
        dump = Dump([*options.program, "--compute-dtype", options.compute_dtype], folder)
    passed = [compare(Comparison(dump, functions, rule), options, what) for what, functions, rule in comparisons]
    sys.exit(0 if all(passed) else 1)


def compare(comparison, options, what):
    cases = [case for case in comparison.dump.cases["cases"] if options.case in case["name"]]
    comparison.compare_all(cases)
    if not options.case:
        comparison.check_completeness()

    if options.list:
        for op, count in sorted(comparison.compared.items()):
            print(f"{op:32} {count:5} tensors, at most {comparison.used[op]:6.1%} of what is allowed")
        for name, reason in comparison.without_gradient.items():
            print(f"{name}: values only: {reason}")
    for failure in comparison.failures:
        print("FAILED " + failure)
    print(f"{len(cases)} cases, {sum(comparison.compared.values())} tensors of {len(comparison.compared)} ops compared with "
          f"torch {torch.__version__}, {options.dtype}{what}; {len(comparison.failures)} failed")
    return cases and not comparison.failures


main()
