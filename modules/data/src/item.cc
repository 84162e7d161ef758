// SPDX-License-Identifier: Apache-2.0
#include "item.h"

#include <algorithm>
#include <cstring>

namespace shoal::data {
namespace {

Shape row_shape(const Shape& shape) { return Shape(shape.dims().subspan(1)); }

Column column_of(const std::string& name, const Tensor& tensor) {
  Column column{&name, tensor.dtype(), tensor.shape(), nullptr, nullptr};
  if (tensor.dtype() == DType::kString) {
    column.strings = tensor.strings().data();
  } else {
    column.data = tensor.view().data;
  }
  return column;
}

const std::pair<std::string, Tensor>& entry(const Element& element, size_t index) {
  const size_t features = element.features.size();
  return index < features ? element.features.begin()[ptrdiff_t(index)]
                          : element.labels.begin()[ptrdiff_t(index - features)];
}

std::string quoted(const std::string& name) { return name.empty() ? "the tensor" : "\"" + name + "\""; }

/// Returns the mutable tensor number `index`; features come first.
Tensor& tensor_at(Element& element, size_t index) {
  const size_t features = element.features.size();
  return index < features ? element.features.begin()[ptrdiff_t(index)].second
                          : element.labels.begin()[ptrdiff_t(index - features)].second;
}

void copy_whole(const Column& column, Tensor& target) {
  if (column.dtype == DType::kString) {
    std::copy_n(column.strings, target.elements(), target.mutable_strings().begin());
  } else if (const size_t bytes = target.bytes()) {
    std::memcpy(target.mutable_view().data, column.data, bytes);
  }
}

}  // namespace

Rows::Rows(Element tensors) : tensors_(std::move(tensors)) {
  const size_t count = tensors_.features.size() + tensors_.labels.size();
  SHOAL_CHECK(count > 0);
  for (size_t i = 0; i < count; ++i) {
    const auto& [name, tensor] = entry(tensors_, i);
    Column column = column_of(name, tensor);
    column.shape = row_shape(tensor.shape());
    row_strings_.push_back(size_t(column.shape.elements()));
    row_bytes_.push_back(size_t(column.shape.elements()) * size_of(tensor.dtype()));
    columns_.push_back(column);
  }
  count_ = entry(tensors_, 0).second.shape()[0];
}

Column Rows::column(size_t index, int64_t row) const {
  Column column = columns_[index];
  if (column.strings) {
    column.strings += size_t(row) * row_strings_[index];
  } else {
    column.data += size_t(row) * row_bytes_[index];
  }
  return column;
}

Result<void> check_rows(const Element& tensors) {
  if (tensors.features.empty()) return invalid_argument("there is no feature; give at least one tensor");
  const Tensor& first = tensors.features.begin()->second;
  for (const TensorMap* map : {&tensors.features, &tensors.labels}) {
    for (const auto& [name, tensor] : *map) {
      const std::string what = (map == &tensors.labels ? "label " : "feature ") + quoted(name);
      if (tensor.shape().rank() == 0) return invalid_argument(what + " is a scalar and has no rows");
      if (tensor.shape()[0] != first.shape()[0]) {
        return invalid_argument(what + " has " + std::to_string(tensor.shape()[0]) + " rows, feature " +
                                quoted(tensors.features.begin()->first) + " has " + std::to_string(first.shape()[0]));
      }
    }
  }
  return {};
}

size_t Item::columns() const { return rows_ ? rows_->columns() : element().features.size() + element().labels.size(); }

Column Item::column(size_t index) const {
  if (rows_) return rows_->column(index, row_);
  const auto& [name, tensor] = entry(element(), index);
  return column_of(name, tensor);
}

RecordId Item::record_of_row(int64_t row) const {
  if (rows_ || !held().rows || size_t(row) >= held().rows->size()) return 0;
  return (*held().rows)[size_t(row)];
}

void Item::set_records_of_rows(std::span<const Item> items) {
  if (std::ranges::none_of(items, [](const Item& item) { return item.record() != 0; })) return;
  if (!held_.rows) held_.rows = std::make_unique<std::vector<RecordId>>();
  held_.rows->clear();
  for (const Item& item : items) held_.rows->push_back(item.record());
}

void Item::set_records_of_rows(std::span<const RecordId> records) {
  if (std::ranges::all_of(records, [](RecordId record) { return record == 0; })) return;
  if (!held_.rows) held_.rows = std::make_unique<std::vector<RecordId>>();
  held_.rows->assign(records.begin(), records.end());
}

void Item::take_records(const Item& other) {
  held_.forget_records();
  if (!other.has_records()) return;
  held_.record = other.held().record;
  if (!other.held().rows) return;
  if (!held_.rows) held_.rows = std::make_unique<std::vector<RecordId>>();
  *held_.rows = *other.held().rows;
}

Element& Item::materialise(BufferPool& pool) {
  if (!rows_ && !shared_) return held_.element;
  Element& element = held_.element;
  const size_t all = columns();
  ready_names(element.features, *this, 0, features());
  ready_names(element.labels, *this, features(), all - features());
  for (size_t i = 0; i < all; ++i) {
    const Column from = column(i);
    Tensor& target = tensor_at(element, i);
    ready_tensor(target, from.dtype, from.shape, pool);
    copy_whole(from, target);
  }
  take_records(*this);
  rows_ = nullptr;
  shared_ = nullptr;
  return element;
}

std::shared_ptr<const Held> Item::share(BufferPool& pool) {
  materialise(pool);
  return std::make_shared<const Held>(std::exchange(held_, Held()));
}

const Element& Item::readable(BufferPool& pool) { return shared_ ? shared_->element : materialise(pool); }

void ready_names(TensorMap& map, const Item& like, size_t first, size_t count) {
  bool same = map.size() == count;
  for (size_t i = 0; same && i < count; ++i) same = map.begin()[ptrdiff_t(i)].first == *like.column(first + i).name;
  if (same) return;
  map = TensorMap();
  for (size_t i = 0; i < count; ++i) map.set(*like.column(first + i).name, Tensor());
}

void ready_names(TensorMap& map, const std::vector<std::string>& names) {
  const bool same = std::equal(map.begin(), map.end(), names.begin(), names.end(),
                               [](const auto& entry, const std::string& name) { return same_name(entry.first, name); });
  if (same) return;
  map = TensorMap();
  for (const std::string& name : names) map.set(name, Tensor());
}

void ready_tensor(Tensor& tensor, DType dtype, const Shape& shape, BufferPool& pool) {
  if (tensor.dtype() == dtype && tensor.shape() == shape && tensor.unique()) return;
  tensor = new_tensor(dtype, shape, pool);
}

Tensor new_tensor(DType dtype, const Shape& shape, BufferPool& pool) {
  if (dtype == DType::kString) return Tensor(dtype, shape);
  return Tensor(dtype, shape, pool.get(size_t(shape.elements()) * size_of(dtype)));
}

void copy_row(const Column& column, Tensor& target, int64_t row) {
  const size_t elements = size_t(column.shape.elements());
  if (column.dtype == DType::kString) {
    std::copy_n(column.strings, elements, target.mutable_strings().begin() + row * int64_t(elements));
  } else if (elements > 0) {
    const size_t bytes = elements * size_of(column.dtype);
    std::memcpy(target.mutable_view().data + size_t(row) * bytes, column.data, bytes);
  }
}

}  // namespace shoal::data
