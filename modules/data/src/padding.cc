// SPDX-License-Identifier: Apache-2.0
#include "padding.h"

#include <algorithm>
#include <cstring>

namespace shoal::data {
namespace {

/// Returns "features/words", or "features" for a single tensor without a name.
std::string name_of(const Item& item, size_t index) {
  const std::string part = index < item.features() ? "features" : "labels";
  const std::string& name = *item.column(index).name;
  return name.empty() ? part : part + "/" + name;
}

template <class Named>
Result<void> check_known(const Named& named, const Item& element) {
  for (const auto& [name, unused] : named) {
    std::string names;
    bool known = false;
    for (size_t i = 0; i < element.columns(); ++i) {
      names += (i == 0 ? "" : ", ") + name_of(element, i);
      known |= name_of(element, i) == name;
    }
    if (!known) return invalid_argument("padded_batch: there is no " + name + ", but: " + names);
  }
  return {};
}

}  // namespace

Result<void> Padding::check_names(const Item& element) const {
  SHOAL_TRY_VOID(check_known(options_.sizes, element));
  SHOAL_TRY_VOID(check_known(options_.values, element));
  for (size_t i = 0; i < element.columns(); ++i) {
    const std::string name = name_of(element, i);
    const Column column = element.column(i);
    if (const auto sizes = options_.sizes.find(name);
        sizes != options_.sizes.end() && int(sizes->second.size()) != column.shape.rank()) {
      return invalid_argument("padded_batch: " + name + " is " + to_string(column.shape) + ", and there are " +
                              std::to_string(sizes->second.size()) + " sizes for it");
    }
    if (const auto value = options_.values.find(name);
        value != options_.values.end() && value->second.dtype() != column.dtype) {
      return invalid_argument("padded_batch: " + name + " is " + std::string(to_string(column.dtype)) +
                              ", and the value for it " + std::string(to_string(value->second.dtype())));
    }
  }
  return {};
}

Result<Shape> Padding::common_shape(std::span<const Item> items, size_t index) const {
  const std::string name = name_of(items[0], index);
  const auto given = options_.sizes.find(name);
  std::vector<int64_t> sizes(size_t(items[0].column(index).shape.rank()), 0);
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    for (const Item& item : items) sizes[axis] = std::max(sizes[axis], item.column(index).shape[int(axis)]);
    const int64_t size = given == options_.sizes.end() ? -1 : given->second[axis];
    if (size < 0) {
      const int64_t over = sizes[axis] % options_.multiple_of;
      if (over != 0) sizes[axis] += options_.multiple_of - over;
    } else if (sizes[axis] > size) {
      return invalid_argument("padded_batch: " + name + " has " + std::to_string(sizes[axis]) + " values along axis " +
                              std::to_string(axis) + ", more than its size of " + std::to_string(size) +
                              "; cut it with map, or give a larger size");
    } else {
      sizes[axis] = size;
    }
  }
  return Shape(sizes);
}

void Padding::fill(const Item& like, size_t index, Tensor& target) const {
  const auto value = options_.values.find(name_of(like, index));
  const bool given = value != options_.values.end();
  if (target.dtype() == DType::kString) {
    std::fill_n(target.mutable_strings().begin(), target.elements(), given ? value->second.strings()[0] : std::string());
  } else if (!given) {
    if (target.bytes() > 0) std::memset(target.mutable_view().data, 0, target.bytes());
  } else {
    const size_t size = size_of(target.dtype());
    std::byte* at = target.mutable_view().data;
    for (int64_t i = 0; i < target.elements(); ++i, at += size) std::memcpy(at, value->second.view().data, size);
  }
}

RandomKey Padding::fold_parameters(RandomKey key) const {
  key = fold_in(fold_in(key, "padded"), uint64_t(options_.multiple_of));
  for (const auto& [name, sizes] : options_.sizes) {
    key = fold_in(fold_in(key, name), sizes.size());
    for (int64_t size : sizes) key = fold_in(key, uint64_t(size));
  }
  for (const auto& [name, value] : options_.values) {
    key = fold_in(fold_in(key, name), uint64_t(value.dtype()));
    if (value.dtype() == DType::kString) {
      key = fold_in(key, value.strings()[0]);
    } else {
      key = fold_in(key, std::string_view(reinterpret_cast<const char*>(value.view().data), value.bytes()));
    }
  }
  return key;
}

void copy_into_corner(const Column& column, Tensor& target, int64_t row) {
  const int rank = column.shape.rank();
  const int64_t run = rank == 0 ? 1 : column.shape[rank - 1];  // This many values are contiguous in both tensors.
  const int64_t runs = run == 0 ? 0 : column.shape.elements() / run;
  std::vector<int64_t> index(size_t(std::max(rank - 1, 0)), 0);
  for (int64_t i = 0; i < runs; ++i) {
    int64_t at = row;
    for (int axis = 0; axis < rank; ++axis) {
      at = at * target.shape()[axis + 1] + (axis < rank - 1 ? index[size_t(axis)] : 0);
    }
    if (column.dtype == DType::kString) {
      std::copy_n(column.strings + i * run, run, target.mutable_strings().begin() + at);
    } else {
      const size_t size = size_of(column.dtype);
      std::memcpy(target.mutable_view().data + size_t(at) * size, column.data + size_t(i * run) * size, size_t(run) * size);
    }
    for (int axis = rank - 2; axis >= 0 && ++index[size_t(axis)] == column.shape[axis]; --axis) index[size_t(axis)] = 0;
  }
}

}  // namespace shoal::data
