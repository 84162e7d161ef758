// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Evidence that what an export's format has added computes what Shoal predicts.
#include <memory>
#include <string>

#include "evaluate/evaluation.h"
#include "evaluate/form_request.h"
#include "model/model.h"
#include "shoal/convert/cpp.h"
#include "shoal/convert/onnx.h"

namespace shoal {

struct Proof {
  std::string evidence;  ///< The file proof.json (docs/formats.md).
  std::string refusal;   ///< Why the export is not published, naming the worst examples; "" if it is.
};

/// Computes what was written, as it was read back, on the held-out examples, and compares. Errors: those of the input, of a file that
/// cannot be read back, and of a source that does not compile. `model` computes Shoal's side, and cannot be used afterwards.
Result<Proof> prove_onnx(const FormToWrite& to, const convert::OnnxFile& onnx, std::unique_ptr<BuiltModel> model,
                         LoadedVariables variables);
Result<Proof> prove_cpp(const FormToWrite& to, const convert::CppSource& source, std::unique_ptr<BuiltModel> model,
                        LoadedVariables variables);

}  // namespace shoal
