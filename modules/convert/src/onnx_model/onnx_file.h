// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The contents of an ONNX file: nodes, constants, inputs and outputs by name. program.h checks whether they fit together.
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shoal/convert/onnx_model.h"

namespace shoal::convert::onnx_model {

/// AttributeProto.AttributeType: the types of attributes that the reader knows.
enum class AttributeType : int32_t { kReal = 1, kInt = 2, kText = 3, kTensor = 4, kReals = 6, kInts = 7, kTexts = 8 };

struct Attribute {
  AttributeType type = AttributeType::kInt;
  int64_t number = 0;
  float real = 0;
  std::string text = {};
  std::vector<int64_t> numbers = {};
  std::vector<float> reals = {};
  std::vector<std::string> texts = {};
  Tensor tensor = {};
};

struct Node {
  std::string name, op, domain;
  std::vector<std::string> inputs, outputs;  ///< "": left out.
  std::map<std::string, Attribute, std::less<>> attributes;
};

struct File {
  std::map<std::string, int64_t> opsets;  ///< Opsets by domain; the domain of ONNX itself is "".
  std::vector<Node> nodes;
  std::vector<std::pair<std::string, Tensor>> constants;
  std::vector<OnnxPort> inputs, outputs;
};

/// DataLoss for damaged bytes; InvalidArgument for parts that the reader does not know, and for a file beyond the limits.
Result<File> read_file(std::string_view bytes, const OnnxLimits& limits);

}  // namespace shoal::convert::onnx_model
