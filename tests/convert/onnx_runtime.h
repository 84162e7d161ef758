// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Runs ONNX files in onnxruntime, which this build does not link: a script in Python (Debian 13: python3-onnxruntime) or one for
/// Node (npm install --ignore-scripts onnxruntime-node; SHOAL_NODE_MODULES names the folder node_modules) takes a list of jobs, a
/// JSON file:
///
///   [{"model": path, "out": prefix, "inputs": [{"name", "type", "shape", "file"}]}]
///
/// and writes the results to another: for each job {"outputs": [{"name", "type", "shape", "file"}]} or {"error": text}. A file
/// has the elements of a tensor, or, of text, a JSON array.
#include <map>
#include <string>
#include <vector>

#include "shoal/base/tensor.h"

namespace shoal::convert {

using Tensors = std::map<std::string, Tensor>;

struct OnnxJob {
  std::string name;   ///< A name for files.
  std::string bytes;  ///< The ONNX file.
  Tensors inputs;     ///< Those that the file does not have are left out.
};

struct OnnxResult {
  std::string error;
  Tensors outputs;
};

/// Why there is no onnxruntime here; "" if there is.
std::string onnx_runtime_missing();
/// The results in the order of the jobs.
std::vector<OnnxResult> run_onnx(const std::vector<OnnxJob>& jobs);
/// What ONNX's checker (python3-onnx) says against the files; "" if all are valid.
std::string onnx_findings(const std::vector<OnnxJob>& jobs);
/// Why there is no checker here; "" if there is.
std::string onnx_checker_missing();

/// A case by which ONNX itself tests runtimes (python3-onnx has them), with what numpy gives for it.
struct BackendCase {
  OnnxJob job;
  Tensors expected;
};
/// Those of opset 17; an empty list, and a failed expectation, if the script could not write them.
std::vector<BackendCase> backend_cases();

/// The largest difference of float32 elements, divided by the largest magnitude of `expected` or 1, whichever is larger; infinity
/// where type or shape differ, or other elements.
double difference(const Tensor& actual, const Tensor& expected);

}  // namespace shoal::convert
