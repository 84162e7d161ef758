// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Kernels, which compute the nodes of an ONNX model: a function for each op, and the arguments of its calls.
#include <cstdint>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "onnx_model/element_types.h"
#include "onnx_model/onnx_file.h"
#include "shoal/base/result.h"
#include "shoal/base/tensor.h"

namespace shoal::convert::onnx_model {

/// The memory and work that a run may still use.
class Budget {
 public:
  explicit Budget(const OnnxLimits& limits) : elements_max_(limits.elements_max), work_left_(limits.work_max) {}

  /// Subtracts the product of the factors, each >= 0, from the work that the run may still do. InvalidArgument if this work
  /// is less than the product. A factor of 0 counts as 1, since a loop that does nothing takes time, too.
  Result<void> take(std::initializer_list<int64_t> factors);
  int64_t elements_max() const { return elements_max_; }

 private:
  int64_t elements_max_, work_left_;
};

/// A value of a run. Shoal's tensors lack float64, so a tensor of int64 holds the bits of such numbers.
struct Operand {
  Tensor tensor;
  bool is_double = false;
};

/// One call of a kernel: one node in one run. The errors of a kernel say what is wrong; its caller adds the node.
class Call {
 public:
  /// A null input is one that the node leaves out. `inputs`, `node` and `budget` have to outlive the call.
  Call(const Node& node, std::vector<const Operand*> inputs, Budget& budget)
      : node_(node), inputs_(std::move(inputs)), results_(node.outputs.size()), budget_(budget) {}

  size_t inputs() const { return inputs_.size(); }
  bool has(size_t i) const { return i < inputs_.size() && inputs_[i]; }
  const Tensor& in(size_t i) const { return inputs_[i]->tensor; }
  bool is_double(size_t i) const { return has(i) && inputs_[i]->is_double; }
  DType dtype(size_t i = 0) const { return in(i).dtype(); }
  const Shape& shape(size_t i = 0) const { return in(i).shape(); }

  // Attributes by name. Program has checked their types already.
  const Attribute* find(std::string_view name) const;
  int64_t number(std::string_view name, int64_t otherwise) const;
  float real(std::string_view name, float otherwise) const;
  std::vector<int64_t> numbers(std::string_view name, std::vector<int64_t> otherwise = {}) const;

  // Checks of inputs: InvalidArgument, naming the input, unless it has this type, shape or rank.
  Result<void> want(size_t i, DType dtype) const;
  Result<void> want(size_t i, DType dtype, std::initializer_list<int64_t> dims) const;
  Result<void> want_rank(size_t i, int rank) const;
  /// Checks that all inputs from `first` on have the type of input `first`.
  Result<void> want_one_type(size_t first = 0) const;
  Error unknown_type(size_t i = 0) const;
  /// The elements of input i, which has to be int64 or int32 with at most one axis.
  Result<std::vector<int64_t>> int64s(size_t i) const;
  /// The only element of input i, which has to be int64 or int32.
  Result<int64_t> int64_scalar(size_t i) const;

  /// Makes a tensor for the kernel to fill. The number of its elements is taken from the budget.
  Result<Tensor> make(DType dtype, std::span<const int64_t> dims);
  Result<Tensor> make(DType dtype, const Shape& shape) { return make(dtype, shape.dims()); }
  /// Makes zeros for sums. Their number, the product of `dims`, is taken from the budget.
  Result<std::vector<double>> sums(std::initializer_list<int64_t> dims);
  Budget& budget() { return budget_; }

  size_t outputs() const { return results_.size(); }
  void give(Tensor tensor, size_t output = 0) {
    if (output < results_.size()) results_[output] = {std::move(tensor), false};
  }
  void give_doubles(Tensor bits) { results_[0] = {std::move(bits), true}; }
  std::vector<Operand>& results() { return results_; }

 private:
  const Node& node_;
  std::vector<const Operand*> inputs_;
  std::vector<Operand> results_;
  Budget& budget_;
};

/// An attribute that a kernel knows.
struct KnownAttribute {
  std::string_view name;
  AttributeType type;
  std::string_view only = {};  ///< Not empty: the only value, as number or text, that the kernel accepts.
};

struct Kernel {
  Result<void> (*run)(Call& call) = nullptr;
  size_t inputs_min = 1, inputs_max = 1;
  std::vector<KnownAttribute> attributes = {};
  size_t outputs_max = 1;
  /// Computes the op for operands of float64; null: float64 is refused. `run` is never called for float64.
  Result<void> (*run_doubles)(Call& call) = nullptr;
};

constexpr size_t kAnyCount = size_t(1) << 30;

/// Kernels by op; an op of ai.onnx.ml has the key "ai.onnx.ml.<op>".
using Kernels = std::map<std::string_view, Kernel>;
const Kernels& kernels();

// Each function below adds the kernels of one family of ops.
void add_arranging(Kernels& kernels);
void add_convolutions(Kernels& kernels);
void add_elementwise(Kernels& kernels);
void add_lookups(Kernels& kernels);
void add_norms(Kernels& kernels);
void add_operands(Kernels& kernels);
void add_pools(Kernels& kernels);
void add_products(Kernels& kernels);
void add_reductions(Kernels& kernels);
void add_sequences(Kernels& kernels);

/// Sets Kernel::run_doubles in the kernels of those ops that can also compute in float64.
void add_doubles(Kernels& kernels);
/// Runs a Cast from float32 to float64.
Result<void> cast_to_doubles(Call& call);

/// Returns the axis of a tensor of this rank, counted from 0; a given axis below 0 counts from the end.
Result<int> axis_of(int64_t axis, int rank);

/// The elements of a tensor whose type is T; T may be std::string.
template <class T>
std::span<const T> elements_of(const Tensor& tensor) {
  if constexpr (std::is_same_v<T, std::string>) {
    return tensor.strings();
  } else {
    return tensor.as<T>();
  }
}
template <class T>
std::span<T> elements_of(Tensor& tensor) {
  if constexpr (std::is_same_v<T, std::string>) {
    return tensor.mutable_strings();
  } else {
    return tensor.mutable_as<T>();
  }
}

/// Calls run(T()), where T is the C++ type of elements of type `dtype`. `run` returns Result<void>.
template <class Run>
Result<void> with_type(DType dtype, Run run) {
  switch (dtype) {
    case DType::kFloat32: return run(float());
    case DType::kInt32: return run(int32_t());
    case DType::kInt64: return run(int64_t());
    case DType::kUInt8: return run(uint8_t());
    case DType::kBool: return run(bool());
    case DType::kString: return run(std::string());
    default: return invalid_argument("there are elements of type " + std::string(to_string(dtype)));
  }
}

}  // namespace shoal::convert::onnx_model
