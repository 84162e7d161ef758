// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The elements of datasets: features and labels, each a single tensor or a map from names to tensors.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shoal/base/tensor.h"

namespace shoal::data {

/// Tensors by name, in byte order of the names. A single tensor without a name has the name "".
class TensorMap {
 public:
  TensorMap() = default;
  TensorMap(Tensor tensor);  // NOLINT: a tensor converts to a map of one tensor
  TensorMap(std::initializer_list<std::pair<std::string, Tensor>> tensors);

  bool empty() const { return size() == 0; }
  size_t size() const { return tensors_.size(); }
  bool is_single() const;
  void set(std::string name, Tensor tensor);
  void erase(std::string_view name);  ///< Does nothing if there is no such tensor.
  const Tensor* find(std::string_view name) const;
  Tensor* find(std::string_view name);
  /// The tensor of that name. The second function allows callers to replace the tensor, and to write to it if nobody shares
  /// its storage. Raises InvalidArgument, listing the names, if there is none.
  const Tensor& operator[](std::string_view name) const;
  Tensor& operator[](std::string_view name);
  /// The only tensor, without a name. Raises InvalidArgument, listing the names, if tensors have names or there is none.
  const Tensor& single() const;
  Tensor& single();
  /// The names as text, for errors.
  std::string names() const;
  const std::pair<std::string, Tensor>* begin() const { return tensors_.data(); }
  const std::pair<std::string, Tensor>* end() const { return tensors_.data() + tensors_.size(); }
  std::pair<std::string, Tensor>* begin() { return tensors_.data(); }
  std::pair<std::string, Tensor>* end() { return tensors_.data() + tensors_.size(); }

 private:
  std::vector<std::pair<std::string, Tensor>> tensors_;
};

/// One element of a dataset. If the last stage makes batches, the element is a batch.
struct Element {
  TensorMap features;
  TensorMap labels;  ///< Empty: the element has no labels.
};
using Batch = Element;

}  // namespace shoal::data
