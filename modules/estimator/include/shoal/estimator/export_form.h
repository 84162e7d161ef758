// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Forms in which a model leaves, beside the export that Shoal itself loads; and proof that such a form computes the same.
#include <cstdint>
#include <string>
#include <vector>

#include "shoal/base/result.h"
#include "shoal/convert/cpp.h"
#include "shoal/convert/onnx.h"
#include "shoal/estimator/input_fn.h"

namespace shoal {

/// Every export has Shoal's own files, which load_exported_model() loads. A format adds files to them.
enum class ExportFormat : uint8_t {
  kShoal = 0,  ///< Nothing is added.
  kOnnx = 1,   ///< model.onnx is added, for onnxruntime and others (shoal/convert/onnx.h).
  kCpp = 2,    ///< model.h and model.cc are added, plain C++17 for boards (shoal/convert/cpp.h).
  /// The same, computing in eight bits where that is possible. The ranges of numbers are taken from the first 128 examples of the
  /// serving input, which is the evaluation's where an exporter exports.
  kCppInt8 = 3,
};

/// Evidence that an export is asked for. The added file is read back and computed on held-out examples by code that shares
/// nothing with what wrote it. The export is published only if the results agree with Shoal's predictions. What was compared
/// stands in the file proof.json of the export (docs/formats.md). C++ is compiled for that, by the compiler that the environment
/// variable CXX names, or c++: FailedPrecondition where there is none.
struct ExportProof {
  /// Opened for each export. Batches of features, or of features and labels, that training has not seen. Without an input, no
  /// proof is asked for.
  InputFn input = {};
  /// The largest difference of a number from Shoal's, divided by the largest magnitude of that output in a batch, or by 1 if
  /// that is larger. Greater than 0. Outputs that are no float32 have to be equal.
  double tolerance = 1e-5;
  /// Of kCppInt8, whose numbers may differ from Shoal's by more: by how much the share of examples with the right class may be
  /// lower than Shoal's, in [0, 1]. Classes are the output "class_ids", or else where the first output is largest; labels of
  /// integers say which are right, and without them Shoal's own are. Of a model without classes, such as a regression, numbers count
  /// as in float: choose the tolerance for that.
  double accuracy_loss = 0.005;
  /// How many examples are compared, at least; all of the input, if it has fewer. Greater than 0.
  int64_t examples = 256;
};

/// Writes the export in `folder` (or the newest export of a folder of exports is the caller's to find) as an ONNX file to the path
/// `file`, which appears whole or not at all. Returns the inputs of the file that are no features of the model.
/// Raises the errors of load_exported_model(), and InvalidArgument naming each node that cannot be written.
std::vector<convert::TransformedInput> write_onnx(const std::string& folder, const std::string& file,
                                                  const convert::OnnxOptions& options = {});
Result<std::vector<convert::TransformedInput>> try_write_onnx(const std::string& folder, const std::string& file,
                                                              const convert::OnnxOptions& options = {});

/// The rows of features, each an example for CppOptions::int8. InvalidArgument if features have no rows, or not equally many.
Result<convert::Calibration> examples_of(const data::TensorMap& features);

/// Writes the export in `folder` as C++ to <name>.h and <name>.cc in the folder `directory`, which is made if it is missing, and
/// the weights to <name>.weights where options.weights_apart says so. Returns what was written, without its text. Raises the errors of
/// load_exported_model(), and InvalidArgument for a node that cannot be written.
convert::CppSource write_cpp(const std::string& folder, const std::string& directory, const convert::CppOptions& options = {});
Result<convert::CppSource> try_write_cpp(const std::string& folder, const std::string& directory,
                                         const convert::CppOptions& options = {});

}  // namespace shoal
