// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Evidence that the file of an export's format computes what Shoal predicts.
#include <memory>
#include <string>

#include "evaluate/export_form.h"
#include "shoal/convert/onnx.h"

namespace shoal {

struct Proof {
  std::string evidence;  ///< The file proof.json (docs/formats.md).
  std::string refusal;   ///< Why the export is not published, naming the worst examples; "" if it is.
};

/// Computes the ONNX file on the held-out examples, and compares. Errors: those of the input, and of a file that cannot be read
/// back.
Result<Proof> prove_onnx(const FormToWrite& to, const convert::OnnxFile& onnx, std::unique_ptr<BuiltModel> model,
                         LoadedVariables variables);

}  // namespace shoal
