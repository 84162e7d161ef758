// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Writes trained models as ONNX files (https://onnx.ai), for onnxruntime and all other programs that read the format.
///
/// A file has opset 17 of ONNX, opset 3 of ai.onnx.ml where it reads or writes text, and IR version 8. Its inputs are the
/// features that predictions are computed from, with the names, types and shapes of the export; axes that vary are symbols. Its
/// outputs are the predictions. (ONNX has no empty names: a lone feature is called "features", a lone prediction
/// "predictions".)
///
/// Predictions of a file differ from those of Shoal in four ways. An id or a number out of range is no error; the
/// result is arbitrary. A text that a vocabulary refuses becomes an id beyond all others. The largest of several
/// numbers is arbitrary if one of them is NaN. The caller passes hashed texts and ids as ids (see TransformedInput).
#include <cstdint>
#include <string>
#include <vector>

#include "shoal/base/result.h"
#include "shoal/convert/trained_model.h"

namespace shoal::convert {

struct OnnxOptions {
  /// Only the outputs of this signature are written, under their names in the signature. "": all predictions, by key.
  std::string signature = {};
};

/// ONNX has no op that hashes texts or ids. So the result of each hash is an input of the file, which the caller computes.
struct TransformedInput {
  std::string name;  ///< The name of the file's input, an int64 tensor of the shape that the ids have in Shoal.
  std::string how;   ///< How the ids are computed, in words: "hash64(text of feature \"town\") modulo 100; ...".
  std::string node;  ///< The name of the node of the model's graph that computes these ids.
};

struct OnnxFile {
  std::string bytes;  ///< The contents of the file.
  std::vector<TransformedInput> transformed;
};

/// Returns every reason why the model cannot be written, each naming node and op; empty if it can. Reads no weights.
std::vector<std::string> onnx_obstacles(const TrainedModel& model, const OnnxOptions& options = {});

/// Writes the model. InvalidArgument if onnx_obstacles() returns a reason, if the signature does not exist, or if the file
/// would reach 2 GiB.
Result<OnnxFile> to_onnx(const TrainedModel& model, const OnnxOptions& options = {});

}  // namespace shoal::convert
