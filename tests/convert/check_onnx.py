# SPDX-License-Identifier: Apache-2.0
"""Prints what ONNX's own checker says of files that are not valid: check_onnx.py FILE..."""
import sys

import onnx

for path in sys.argv[1:]:
    try:
        onnx.checker.check_model(path, full_check=True)
        model = onnx.load(path)
        versions = {opset.domain: opset.version for opset in model.opset_import}
        if model.ir_version != 8 or versions[""] != 17:
            print(f"{path}: IR version {model.ir_version}, opset {versions['']}")
    except Exception as error:  # The checker raises errors of several kinds.
        print(f"{path}: {error}")
