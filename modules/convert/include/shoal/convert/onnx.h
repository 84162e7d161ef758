// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Trained models as ONNX files (https://onnx.ai): for onnxruntime and whatever else reads the format.
///
/// A file has opset 17 of ONNX, opset 3 of ai.onnx.ml where it reads or writes text, and IR version 8. Its inputs are the
/// features that predictions are computed from, with the names, types and shapes of the export; axes that vary are symbols. Its
/// outputs are the predictions. (ONNX has no empty names: a lone feature is called "features", a lone prediction
/// "predictions".)
///
/// Four things differ from a prediction in Shoal. An id or a number out of its range is no error, and gives any result. Text
/// that a vocabulary refuses becomes an id beyond all others. Of numbers among which is a NaN, the largest is any one. And what
/// is hashed comes in as ids: see TransformedInput.
#include <cstdint>
#include <string>
#include <vector>

#include "shoal/base/result.h"
#include "shoal/convert/trained_model.h"

namespace shoal::convert {

struct OnnxOptions {
  /// Writes the outputs of this signature alone, with the names that it gives them. "": all predictions, by key.
  std::string signature = {};
};

/// ONNX has no hash of texts or ids. So the result of such a hash is an input of the file, which the caller computes.
struct TransformedInput {
  std::string name;  ///< The name of the file's input, an int64 tensor of the shape that the ids have in Shoal.
  std::string how;  ///< The computation of the ids in words: "hash64(text of feature \"town\") modulo 100; ...".
  std::string node;  ///< The node of the model's graph whose output they are.
};

struct OnnxFile {
  std::string bytes;  ///< The contents of the file.
  std::vector<TransformedInput> transformed;
};

/// Every reason why the model cannot be written, each naming node and op; nothing if it can. Reads no weights.
std::vector<std::string> onnx_obstacles(const TrainedModel& model, const OnnxOptions& options = {});

/// The model as a file. InvalidArgument: there are obstacles, the signature does not exist, or the file would have 2 GiB or more.
Result<OnnxFile> to_onnx(const TrainedModel& model, const OnnxOptions& options = {});

}  // namespace shoal::convert
