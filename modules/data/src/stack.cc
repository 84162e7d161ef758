// SPDX-License-Identifier: Apache-2.0
// Rows go straight from where they are into the batch.
#include "stack.h"

#include <algorithm>
#include <array>

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

Result<void> check_alike(std::string_view what, std::span<const Item> rows, size_t row, bool padded) {
  const Item &first = rows[0], &other = rows[row];
  if (other.alike(first)) return {};
  const std::string where = std::string(what) + ": element " + std::to_string(row) + " of the batch ";
  if (other.columns() != first.columns() || other.features() != first.features()) {
    return invalid_argument(where + "has other features or labels than element 0");
  }
  for (size_t i = 0; i < first.columns(); ++i) {
    const Column expected = first.column(i), found = other.column(i);
    if (*found.name != *expected.name) return invalid_argument(where + "has other features or labels than element 0");
    const bool fits = padded ? found.shape.rank() == expected.shape.rank() : found.shape == expected.shape;
    if (found.dtype == expected.dtype && fits) continue;
    return invalid_argument(where + "has " + (i < first.features() ? "feature \"" : "label \"") + *found.name + "\" of " +
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
  for (size_t row = 1; row < rows.size(); ++row) SHOAL_TRY_VOID(check_alike(what, rows, row, padding != nullptr));
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

}  // namespace shoal::data
