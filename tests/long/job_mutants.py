# SPDX-License-Identifier: Apache-2.0
"""A change of the arithmetic of `portable` is seen by the recorded hashes (arithmetic/recorded.txt): in copies of the tree with a sum
in another order, a sum by another tree, and a product and a sum that the compiler makes one operation, a model ends with another
hash, and in the copy before that with the recorded one."""
import os
import pathlib
import sys
import tempfile
import time

import outcome
from commands import copy_tree, run

sys.path.append(str(pathlib.Path(__file__).resolve().parent / "arithmetic"))
import hashes  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
STEPS = 20
FOLD = "  folded = *reinterpret_cast<const Eight*>(lanes) + *reinterpret_cast<const Eight*>(lanes + 8);\n"
OTHER_FOLD = """  const Eight low = *reinterpret_cast<const Eight*>(lanes), high = *reinterpret_cast<const Eight*>(lanes + 8);
  folded = __builtin_shufflevector(low, high, 0, 1, 2, 3, 8, 9, 10, 11) + __builtin_shufflevector(low, high, 4, 5, 6, 7, 12, 13, 14, 15);
"""
UNITY = "set_source_files_properties(${products} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)\n"
# Options of sources stand behind those of all code, of which one forbids contractions.
CONTRACTED = "set_source_files_properties(norm.cc recurrent.cc softmax.cc PROPERTIES COMPILE_OPTIONS -ffp-contract=fast)\n"
# Name: file, what stands there once, and what stands there instead.
MUTANTS = {
    "another order": ("backends/portable/conv_grad_kernel.cc", "kBlocksMax = 16", "kBlocksMax = 3"),
    "another tree": ("backends/portable/small_batch_code.h", FOLD, OTHER_FOLD),
    "a contraction": ("backends/portable/CMakeLists.txt", UNITY, UNITY + CONTRACTED),
}


def found_by(tree):
    """The models that have another hash than recorded, by what is built from `tree`."""
    run("cmake", "--build", tree / "build", "-j", os.environ.get("SHOAL_JOBS", str(os.cpu_count())), "--target", "arithmetic")
    program = [str(tree / "build/bin/tests/arithmetic")]
    expected = {model: value for (model, steps), value in hashes.recorded().items() if steps == STEPS}
    return [model for model, value in expected.items() if hashes.run(program, model, STEPS) != value]


def body():
    outcome.needs({"cmake": "cmake", "ninja": "ninja-build", "git": "git"})
    begun = time.monotonic()
    caught = {}
    with tempfile.TemporaryDirectory(prefix="shoal-mutants-") as temporary:
        tree = pathlib.Path(temporary)
        copy_tree(ROOT, tree)
        run("cmake", "-S", tree, "-B", tree / "build", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DSHOAL_HEADERS_ALONE=OFF")
        if different := found_by(tree):
            raise AssertionError(f"before any change, other hashes than recorded: {', '.join(different)}")
        for name, (file, stands, instead) in MUTANTS.items():
            text = (tree / file).read_text()
            if text.count(stands) != 1:
                raise AssertionError(f"{file}: {stands!r} stands there {text.count(stands)} times, and not once")
            (tree / file).write_text(text.replace(stands, instead))
            caught[name] = found_by(tree)
            (tree / file).write_text(text)
    if missed := [name for name, models in caught.items() if not models]:
        raise AssertionError(f"no hash tells of {' or of '.join(missed)}")
    return {"seconds": time.monotonic() - begun,
            "how": "; ".join(f"{name}: seen by {', '.join(models)}" for name, models in caught.items())}


if __name__ == "__main__":
    outcome.end_with(body)
