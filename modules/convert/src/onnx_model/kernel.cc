// SPDX-License-Identifier: Apache-2.0
#include "onnx_model/kernel.h"

#include <algorithm>

#include "shoal/base/forever.h"

namespace shoal::convert::onnx_model {
namespace {

std::string named_input(size_t i) { return "input " + std::to_string(i); }

}  // namespace

Result<void> Budget::take(std::initializer_list<int64_t> factors) {
  int64_t product = 1;
  for (const int64_t given : factors) {
    const int64_t factor = std::max<int64_t>(given, 1);
    if (factor > work_left_ / product) {
      work_left_ = 0;
      return invalid_argument("the file asks for more work than the limit allows; raise it, or give fewer examples");
    }
    product *= factor;
  }
  work_left_ -= product;
  return {};
}

const Attribute* Call::find(std::string_view name) const {
  const auto found = node_.attributes.find(name);
  return found == node_.attributes.end() ? nullptr : &found->second;
}

int64_t Call::number(std::string_view name, int64_t otherwise) const {
  const Attribute* const attribute = find(name);
  return attribute ? attribute->number : otherwise;
}

float Call::real(std::string_view name, float otherwise) const {
  const Attribute* const attribute = find(name);
  return attribute ? attribute->real : otherwise;
}

std::vector<int64_t> Call::numbers(std::string_view name, std::vector<int64_t> otherwise) const {
  const Attribute* const attribute = find(name);
  return attribute ? attribute->numbers : std::move(otherwise);
}

Result<void> Call::want(size_t i, DType wanted) const {
  if (dtype(i) == wanted) return {};
  return invalid_argument(named_input(i) + " is " + std::string(to_string(dtype(i))) + "; known here is " +
                          std::string(to_string(wanted)));
}

Result<void> Call::want(size_t i, DType wanted, std::initializer_list<int64_t> dims) const {
  SHOAL_TRY_VOID(want(i, wanted));
  SHOAL_TRY(const Shape expected, shape_of({dims.begin(), dims.size()}));
  if (shape(i) == expected) return {};
  return invalid_argument(named_input(i) + " has the shape " + to_string(shape(i)) + ", and not " + to_string(expected));
}

Result<void> Call::want_rank(size_t i, int rank) const {
  if (shape(i).rank() == rank) return {};
  return invalid_argument(named_input(i) + " has the shape " + to_string(shape(i)) + "; known here are " +
                          std::to_string(rank) + " axes");
}

Result<void> Call::want_one_type(size_t first) const {
  for (size_t i = first; i < inputs_.size(); ++i) {
    if (has(i)) SHOAL_TRY_VOID(want(i, dtype(first)));
  }
  return {};
}

Error Call::unknown_type(size_t i) const {
  return invalid_argument(named_input(i) + " is " + std::string(to_string(dtype(i))) +
                          ", for which this op is not known here");
}

Result<std::vector<int64_t>> Call::int64s(size_t i) const {
  if (shape(i).rank() > 1)
    return invalid_argument(named_input(i) + " has the shape " + to_string(shape(i)) + ", and not one axis");
  if (dtype(i) == DType::kInt32) {
    const auto values = in(i).as<int32_t>();
    return std::vector<int64_t>(values.begin(), values.end());
  }
  SHOAL_TRY_VOID(want(i, DType::kInt64));
  const auto values = in(i).as<int64_t>();
  return std::vector<int64_t>(values.begin(), values.end());
}

Result<int64_t> Call::int64_scalar(size_t i) const {
  SHOAL_TRY(const std::vector<int64_t> values, int64s(i));
  if (values.size() != 1)
    return invalid_argument(named_input(i) + " has " + std::to_string(values.size()) + " elements, and not one");
  return values[0];
}

Result<Tensor> Call::make(DType of, std::span<const int64_t> dims) {
  SHOAL_TRY(const Shape shape, shape_of(dims));
  // Even an empty text takes 32 bytes, eight times as many as a float32, so fewer texts are allowed.
  const int64_t most = of == DType::kString ? budget_.elements_max() / 8 : budget_.elements_max();
  if (shape.elements() > most) {
    return invalid_argument("a tensor would have the shape " + to_string(shape) + ", and the limit is " +
                            std::to_string(most) + " elements");
  }
  SHOAL_TRY_VOID(budget_.take({shape.elements()}));
  return Tensor(of, shape);
}

Result<std::vector<double>> Call::sums(std::initializer_list<int64_t> dims) {
  int64_t count = 1;
  SHOAL_TRY_VOID(budget_.take(dims));
  for (const int64_t size : dims) count = size == 0 ? 0 : count * size;
  if (count > budget_.elements_max()) {
    return invalid_argument(std::to_string(count) + " sums would be made, and the limit is " +
                            std::to_string(budget_.elements_max()) + " elements");
  }
  return std::vector<double>(size_t(count), 0.0);
}

Result<int> axis_of(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank)
    return invalid_argument("there is no axis " + std::to_string(axis) + " among " + std::to_string(rank));
  return int(axis < 0 ? axis + rank : axis);
}

const Kernels& kernels() {
  static const Kernels& all = forever([] {
    Kernels table;
    for (auto* add : {add_arranging, add_convolutions, add_elementwise, add_lookups, add_norms, add_operands, add_pools,
                      add_products, add_reductions, add_sequences, add_doubles})
      add(table);
    return table;
  }());
  return all;
}

}  // namespace shoal::convert::onnx_model
