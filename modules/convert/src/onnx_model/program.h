// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A file whose names are resolved: the values that each node reads and makes, and the kernel that computes it.
#include <cstddef>
#include <utility>
#include <vector>

#include "onnx_model/kernel.h"
#include "onnx_model/onnx_file.h"

namespace shoal::convert::onnx_model {

struct Step {
  static constexpr size_t kNone = size_t(-1);

  size_t node = 0;
  const Kernel* kernel = nullptr;
  std::vector<size_t> inputs, outputs;  ///< The numbers of the values that the node reads and makes; kNone: left out.
  std::vector<size_t> last_uses;        ///< The values that nothing reads after this step.
};

struct Program {
  OnnxLimits limits;
  std::vector<Node> nodes;
  std::vector<OnnxPort> inputs, outputs;
  std::vector<size_t> input_values, output_values;
  std::vector<std::pair<size_t, Tensor>> constants;
  std::vector<Step> steps;
  size_t values = 0;
};

/// InvalidArgument if an opset, an op or an attribute is not known here, if a name stands for no value or for two
/// values, or if a node reads a value that no earlier node makes.
Result<Program> make_program(File file, const OnnxLimits& limits);

/// "node 3, Gemm \"/dense/Gemm\"", for errors.
std::string shown_node(size_t number, const Node& node);

}  // namespace shoal::convert::onnx_model
