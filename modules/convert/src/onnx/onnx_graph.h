// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Builds the bytes of an ONNX file: nodes, constants, inputs and outputs. The class knows the format, but not Shoal's ops.
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "shoal/base/dtype.h"
#include "shoal/base/result.h"
#include "shoal/base/tensor.h"
#include "shoal/graph/dim.h"

namespace shoal::convert {

/// The value of an attribute of an ONNX node; and all attributes of a node, in the order in which they are written.
using OnnxAttribute = std::variant<int64_t, float, std::string, std::vector<int64_t>, std::vector<std::string>>;
using OnnxAttributes = std::vector<std::pair<std::string, OnnxAttribute>>;

/// Names of ONNX nodes begin with the name of the Shoal node from which they were made: "/dense_1/dense/Gemm".
class OnnxGraph {
 public:
  /// The domains that a file may use: kOnnx has the ops of ONNX itself, kMl (ai.onnx.ml) has ops for text.
  enum class Domain { kOnnx, kMl };

  /// Sets the prefix of the names of all nodes that are added from now on.
  void set_scope(std::string_view node_name) { scope_ = "/" + std::string(node_name); }
  /// Adds a node with one output, and returns the output's name. An operand that is left out is "".
  std::string add(std::string_view op, std::vector<std::string> inputs, const OnnxAttributes& attributes = {},
                  Domain domain = Domain::kOnnx);
  /// Adds a node with several outputs.
  std::vector<std::string> add_many(std::string_view op, const std::vector<std::string>& inputs, size_t outputs,
                                    const OnnxAttributes& attributes = {}, Domain domain = Domain::kOnnx);
  /// Gives a value a second name: the name by which users know an output of the file.
  void add_identity(const std::string& from, const std::string& to);

  /// Adds a tensor of this name to the file.
  std::string initializer(const std::string& name, const TensorView& tensor);
  std::string constant(float value);
  std::string constant(int64_t value);                           ///< A scalar.
  std::string constant(const std::vector<int64_t>& values);      ///< A tensor of rank 1.
  std::string constant(const std::vector<float>& values);        ///< A tensor of rank 1.
  std::string constant(const std::vector<std::string>& values);  ///< A tensor of rank 1.

  void add_input(const std::string& name, DType dtype, const DimShape& shape);
  void add_output(const std::string& name, DType dtype, const DimShape& shape);

  struct Header {
    std::string name;
    int64_t model_version = 0;
    std::map<std::string, std::string> metadata;
  };
  /// Returns the file, without nodes and tensors that no output needs. InvalidArgument for 2 GiB or more (protobuf limit).
  Result<std::string> finish(const Header& header) const;

 private:
  std::string unique(const std::string& name);
  /// Returns the name of the constant with this type (`key`, such as "float"), shape and values. Adds it if it is missing.
  template <class T>
  std::string shared_constant(const std::string& key, std::vector<int64_t> shape, std::span<const T> values);
  void add_value(uint32_t field, const std::string& name, DType dtype, const DimShape& shape);

  /// One encoded node or tensor of the graph, with the names of the values that it uses and makes.
  struct Part {
    std::vector<std::string> uses, makes;
    std::string bytes;
  };
  std::vector<const std::string*> needed_parts() const;
  std::string& new_node(std::vector<std::string> uses, std::vector<std::string> makes);

  std::string scope_ = "/";
  std::vector<Part> nodes_, initializers_;
  std::vector<std::string> output_names_;
  std::string inputs_, outputs_;  // The descriptions of the graph's inputs and outputs, as encoded protobuf fields.
  std::set<std::string, std::less<>> names_;
  std::map<std::string, std::string> constants_;  // The names of small constants; the key is type, shape and bytes.
  bool uses_ml_ = false;
};

/// Returns the ONNX element type of a dtype; InvalidArgument for a dtype that Shoal only stores.
Result<int32_t> onnx_element_type(DType dtype);

}  // namespace shoal::convert
