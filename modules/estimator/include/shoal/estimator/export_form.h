// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Formats that an export can have beside Shoal's own, and the comparison that proves that files in these formats compute
/// the same as the model.
#include <cstdint>
#include <string>
#include <vector>

#include "shoal/base/result.h"
#include "shoal/base/stop.h"
#include "shoal/convert/cpp.h"
#include "shoal/convert/onnx.h"
#include "shoal/estimator/input_fn.h"

namespace shoal {

/// Every export contains Shoal's own files, which load_exported_model() loads. A format adds files to them.
enum class ExportFormat : uint8_t {
  kShoal = 0,  ///< Nothing is added.
  kOnnx = 1,   ///< model.onnx is added, for onnxruntime and others (shoal/convert/onnx.h).
  kCpp = 2,    ///< model.h and model.cc are added, plain C++17 for boards (shoal/convert/cpp.h).
  /// As kCpp, but the code computes in eight bits where possible. The first 128 examples of the serving input (for an
  /// exporter: of the evaluation's input) set the ranges of the numbers.
  kCppInt8 = 3,
};

/// The proof that an added file computes the same as the model. Code that shares nothing with the file's writer reads
/// the file back and computes held-out examples. The export is published only if the results agree with Shoal's
/// predictions. The file proof.json of the export records the comparison (docs/formats.md). A proof of C++ compiles it
/// with the compiler that the environment variable CXX names, or c++; FailedPrecondition if there is none.
struct ExportProof {
  /// Batches of features, or of features and labels, that training has not seen; opened for each export. If this function
  /// is empty, the results are not compared, and the export is published without a proof.
  InputFn input = {};
  /// The largest accepted difference of a number from Shoal's, divided by the largest magnitude of that output in a batch,
  /// or by 1 if that is larger. Greater than 0. Outputs of types other than float32 have to be equal.
  double tolerance = 1e-5;
  /// Replaces `tolerance` for kCppInt8, whose numbers may differ more from Shoal's. The share of examples that the code
  /// classifies correctly may be lower than Shoal's share by at most this number, in [0, 1]. The class of an example is the
  /// output "class_ids", or else the index of the largest value of the first output. Integer labels say which class is
  /// correct; without them the class that Shoal computes counts as correct. A model without classes, such as a regression,
  /// has to be compared by a `tolerance` that suits eight bits.
  double accuracy_loss = 0.005;
  /// The least number of examples that are compared; the whole input, if it has fewer. Greater than 0.
  int64_t examples = 256;
};

/// Writes the export in `folder` as an ONNX file to the path `file`. The file appears whole or not at all. `folder` is one
/// export; a folder of several exports is NotFound. Returns those inputs of the file that take hashes instead of texts,
/// which the caller has to compute. Raises the errors of load_exported_model(), and InvalidArgument naming each node that
/// cannot be written. The form that returns a Result ends with Cancelled if `stop` stops while the file is written.
std::vector<convert::TransformedInput> write_onnx(const std::string& folder, const std::string& file,
                                                  const convert::OnnxOptions& options = {});
Result<std::vector<convert::TransformedInput>> try_write_onnx(const std::string& folder, const std::string& file,
                                                              const convert::OnnxOptions& options = {},
                                                              const StopToken& stop = {});

/// Splits a batch of features into its rows. Each row becomes one of the examples from which CppOptions::int8 takes ranges
/// of activations. InvalidArgument if a feature has no rows, or if features differ in their number of rows.
Result<convert::Calibration> examples_of(const data::TensorMap& features);

/// Writes the export in `folder` as C++ to <name>.h and <name>.cc in `directory`, which is made if it is missing. With
/// options.weights_apart the weights go to <name>.weights. After an error there are none of these files, and no folder that
/// the call made; files that were there already keep their contents if the disk is full. Returns the CppSource (functions,
/// memory and so on) without its texts and weights, since they are in the files. Raises the errors of
/// load_exported_model(), and InvalidArgument for a node that cannot be written. The form that returns a Result ends with
/// Cancelled if `stop` stops while the files are written.
convert::CppSource write_cpp(const std::string& folder, const std::string& directory,
                             const convert::CppOptions& options = {});
Result<convert::CppSource> try_write_cpp(const std::string& folder, const std::string& directory,
                                         const convert::CppOptions& options = {}, const StopToken& stop = {});

}  // namespace shoal
