// SPDX-License-Identifier: Apache-2.0
// Copies rows straight from their tensors into the batch.
#include "stack.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace shoal::data {
namespace {

std::string words_of(const Column& column) { return std::string(to_string(column.dtype)) + " " + to_string(column.shape); }

Result<void> check_rank(std::string_view what, const Item& first) {
  for (size_t i = 0; i < first.columns(); ++i) {
    const Column column = first.column(i);
    if (column.shape.rank() < Shape::kRankMax) continue;
    return invalid_argument(std::string(what) + ": \"" + *column.name + "\" of " + words_of(column) +
                            " has as many dimensions as a tensor can have; there is no room for another");
  }
  return {};
}

std::vector<Column> columns_of(const Item& item) {
  std::vector<Column> columns;
  for (size_t i = 0; i < item.columns(); ++i) columns.push_back(item.column(i));
  return columns;
}

/// InvalidArgument unless `other`, element `row` of the batch, has as many features and the same columns as element 0.
Result<void> check_alike(std::string_view what, std::span<const Column> expected_columns, size_t features,
                         const Item& other, size_t row, bool padded) {
  const std::string where = std::string(what) + ": element " + std::to_string(row) + " of the batch ";
  if (other.columns() != expected_columns.size() || other.features() != features) {
    return invalid_argument(where + "has other features or labels than element 0");
  }
  for (size_t i = 0; i < expected_columns.size(); ++i) {
    const Column &expected = expected_columns[i], found = other.column(i);
    if (*found.name != *expected.name) return invalid_argument(where + "has other features or labels than element 0");
    const bool fits = padded ? found.shape.rank() == expected.shape.rank() : found.shape == expected.shape;
    if (found.dtype == expected.dtype && fits) continue;
    return invalid_argument(where + "has " + (i < features ? "feature \"" : "label \"") + *found.name + "\" of " +
                            words_of(found) + ", element 0 of " + words_of(expected) +
                            (padded ? "" : "; make them equal with map, or use padded_batch"));
  }
  return {};
}

Shape stacked(const Shape& row, int64_t count) {
  std::array<int64_t, Shape::kRankMax> dims{count};
  std::copy(row.dims().begin(), row.dims().end(), dims.begin() + 1);
  return Shape(std::span<const int64_t>(dims.data(), size_t(row.rank()) + 1));
}

}  // namespace

Result<void> stack(std::string_view what, std::span<const Item> rows, const Padding* padding, BufferPool& pool,
                   Item& item) {
  const Item& first = rows[0];
  SHOAL_TRY_VOID(check_rank(what, first));
  const std::vector<Column> columns = columns_of(first);
  for (size_t row = 1; row < rows.size(); ++row) {
    if (rows[row].alike(first)) continue;
    SHOAL_TRY_VOID(check_alike(what, columns, first.features(), rows[row], row, padding != nullptr));
  }
  if (padding) SHOAL_TRY_VOID(padding->check_names(first));
  Element& batch = item.own();
  const size_t features = first.features();
  ready_names(batch.features, first, 0, features);
  ready_names(batch.labels, first, features, first.columns() - features);
  for (size_t i = 0; i < first.columns(); ++i) {
    Tensor& target =
        i < features ? batch.features.begin()[ptrdiff_t(i)].second : batch.labels.begin()[ptrdiff_t(i - features)].second;
    const Column like = first.column(i);
    Shape shape = like.shape;
    if (padding) {
      SHOAL_TRY(shape, padding->common_shape(rows, i));
    }
    ready_tensor(target, like.dtype, stacked(shape, int64_t(rows.size())), pool);
    if (padding) {
      padding->fill(first, i, target);
      for (size_t row = 0; row < rows.size(); ++row) copy_into_corner(rows[row].column(i), target, int64_t(row));
    } else {
      for (size_t row = 0; row < rows.size(); ++row) copy_row(rows[row].column(i), target, int64_t(row));
    }
  }
  item.set_records_of_rows(rows);
  return {};
}

uint64_t bytes_of(const Item& item) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < item.columns(); ++i) {
    const Column column = item.column(i);
    bytes +=
        uint64_t(column.shape.elements()) * (column.dtype == DType::kString ? sizeof(std::string) : size_of(column.dtype));
  }
  return bytes;
}

// ---- BatchFiller -----------------------------------------------------------------------------------------------

bool BatchFiller::is_small(const Item& first, int64_t rows_max) {
  constexpr int64_t kRowsMax = 1 << 16, kBytesMax = int64_t(64) << 20;
  return rows_max <= kRowsMax && int64_t(bytes_of(first)) <= kBytesMax / rows_max;
}

Result<void> BatchFiller::begin(const Item& first, int64_t rows_max, Item& item) {
  SHOAL_TRY_VOID(check_rank("batch", first));
  features_ = first.features();
  Element& batch = item.own();
  ready_names(batch.features, first, 0, features_);
  ready_names(batch.labels, first, features_, first.columns() - features_);
  columns_.clear();
  targets_.clear();
  for (TensorMap* map : {&batch.features, &batch.labels}) {
    for (auto& [name, tensor] : *map) {
      const Column like = first.column(columns_.size());
      columns_.push_back({&name, like.dtype, like.shape, nullptr, nullptr});
      ready_tensor(tensor, like.dtype, stacked(like.shape, rows_max), pool_);
      Target target{.tensor = &tensor, .row_elements = size_t(like.shape.elements())};
      if (like.dtype == DType::kString) {
        target.texts = tensor.mutable_strings().data();
      } else {
        target.data = tensor.mutable_view().data;
        target.row_bytes = target.row_elements * size_of(like.dtype);
      }
      targets_.push_back(target);
    }
  }
  records_.clear();
  rows_.clear();
  rows_of_ = first.rows();
  return {};
}

Result<void> BatchFiller::add(Item& next) {
  if (next.rows() && next.rows() == rows_of_) {
    rows_.push_back({next.row_of_tensors(), records_.size()});
  } else if (next.rows() || !copy_whole(next)) {
    SHOAL_TRY_VOID(check_alike("batch", columns_, features_, next, records_.size(), false));
    for (size_t i = 0; i < columns_.size(); ++i) copy_row(next.column(i), *targets_[i].tensor, int64_t(records_.size()));
  }
  records_.push_back(next.record());
  return {};
}

/// Copies an element into the batch. False if its names, types or shapes differ from those of the batch's first element;
/// some of its values may have been copied by then.
bool BatchFiller::copy_whole(Item& next) {
  const Element& element = next.whole();
  if (element.features.size() != features_ || features_ + element.labels.size() != columns_.size()) return false;
  const bool owned = next.owned() != nullptr;
  size_t i = 0;
  for (const TensorMap* map : {&element.features, &element.labels}) {
    for (const auto& [name, tensor] : *map) {
      const Column& expected = columns_[i];
      const Target& target = targets_[i++];
      if (tensor.dtype() != expected.dtype || !(tensor.shape() == expected.shape) || !same_name(name, *expected.name)) {
        return false;
      }
      if (tensor.dtype() != DType::kString) {
        copy_values(tensor.view().data, target, records_.size());
        continue;
      }
      std::string* const to = target.texts + records_.size() * target.row_elements;
      if (owned && tensor.unique()) {
        // Only the item refers to this tensor, so its texts can be swapped instead of copied.
        auto& texts = const_cast<Tensor&>(tensor).mutable_strings();
        std::swap_ranges(texts.begin(), texts.end(), to);
      } else {
        std::ranges::copy(tensor.strings(), to);
      }
    }
  }
  return true;
}

void BatchFiller::copy_values(const std::byte* from, const Target& target, size_t row) {
  std::byte* const to = target.data + row * target.row_bytes;
  switch (target.row_bytes) {  // Scalars, for which a call of memcpy would take longer than the copy.
    case 0: return;
    case 4: std::memcpy(to, from, 4); return;
    case 8: std::memcpy(to, from, 8); return;
    default: std::memcpy(to, from, target.row_bytes);
  }
}

/// Copies the rows that wait in rows_, in one loop, which prefetches some rows while it copies another one.
void BatchFiller::copy_waiting_rows() {
  constexpr size_t kAhead = 4, kLineBytes = 64, kAheadBytesMax = 512;
  for (size_t i = 0; i < columns_.size(); ++i) {
    const Target& target = targets_[i];
    for (size_t k = 0; k < rows_.size(); ++k) {
      if (target.texts) {
        std::copy_n(rows_of_->texts(i, rows_[k].row), target.row_elements,
                    target.texts + rows_[k].place * target.row_elements);
        continue;
      }
      if (k + kAhead < rows_.size()) {
        const std::byte* const ahead = rows_of_->address(i, rows_[k + kAhead].row);
        for (size_t at = 0; at < std::min(target.row_bytes, kAheadBytesMax); at += kLineBytes)
          __builtin_prefetch(ahead + at);
      }
      copy_values(rows_of_->address(i, rows_[k].row), target, rows_[k].place);
    }
  }
}

void BatchFiller::finish(Item& item) {
  copy_waiting_rows();
  const auto count = int64_t(records_.size());
  for (size_t i = 0; i < columns_.size(); ++i) {
    Tensor& tensor = *targets_[i].tensor;
    if (tensor.shape()[0] == count) continue;
    Tensor shorter = new_tensor(columns_[i].dtype, stacked(columns_[i].shape, count), pool_);
    if (targets_[i].texts) {
      std::move(targets_[i].texts, targets_[i].texts + shorter.elements(), shorter.mutable_strings().begin());
    } else if (shorter.bytes() > 0) {
      std::memcpy(shorter.mutable_view().data, targets_[i].data, shorter.bytes());
    }
    tensor = std::move(shorter);
  }
  item.set_records_of_rows(std::span<const RecordId>(records_));
}

}  // namespace shoal::data
