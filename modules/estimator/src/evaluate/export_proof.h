// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Proves that an additional file of an export, such as an ONNX file, computes the same predictions as Shoal.
#include <memory>
#include <string>

#include "evaluate/evaluation.h"
#include "evaluate/form_request.h"
#include "model/model.h"
#include "shoal/convert/cpp.h"
#include "shoal/convert/onnx.h"

namespace shoal {

struct Proof {
  std::string evidence;  ///< The contents of the file proof.json (docs/formats.md).
  std::string refusal;   ///< The reason why the export is not published, with the worst examples; "" if it is.
};

/// Reads the exported file back from the disk, computes its predictions for the held-out examples, and compares them with
/// Shoal's. `model` computes Shoal's predictions and cannot be used afterwards. Errors: those of the input, of a file that
/// cannot be read back, and of C++ source that does not compile.
Result<Proof> prove_onnx(const FormToWrite& to, const convert::OnnxFile& onnx, std::unique_ptr<BuiltModel> model,
                         LoadedVariables variables);
Result<Proof> prove_cpp(const FormToWrite& to, const convert::CppSource& source, std::unique_ptr<BuiltModel> model,
                        LoadedVariables variables);

}  // namespace shoal
