// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The gradient of a variable that is updated by rows: one sum for each row that a batch looks up.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "shoal/base/result.h"
#include "shoal/base/tensor.h"
#include "shoal/cluster/row_gradients.h"
#include "shoal/cluster/shard_plan.h"

namespace shoal::cluster {

/// How many rows ahead a loop over rows prefetches: the rows of a large table lie far apart, and without prefetching the
/// loop would wait for each row in turn.
inline constexpr size_t kRowsAhead = 12;

/// Sums of gradients by row. The time per step depends on the number of gradients, not on the size of the variable: the
/// table with an entry for each row of the variable is made once, and a step clears only the entries of the rows that had
/// gradients. Allocates more memory only for a batch that is the largest so far.
class RowSums {
 public:
  RowSums(int64_t rows, int64_t width) : width_(width), place_of_(size_t(rows), kNone) {}
  /// The most rows of a variable: messages carry row numbers as 32 bits.
  static constexpr int64_t kRowsMax = int64_t(1) << 32;
  /// Makes the sums for all rows of `variable`, which errors call `name`. NotFound if `variable` is null (does not exist).
  /// FailedPrecondition if it cannot be updated by rows: lazy_rows is false, or it has more than kRowsMax rows.
  static Result<RowSums> make(const VariableSpec* variable, const std::string& name);

  /// Adds row i of `gradients` to the sum of row ids[i], in order. `ids` is int64 or int32; `gradients` is float32, one
  /// row of width() numbers per id. InvalidArgument if the sizes do not match, or an id is out of range.
  Result<void> add(const TensorView& ids, const TensorView& gradients);
  void clear();

  /// The numbers of the rows that have got gradients, in the order in which they got their first one.
  std::span<const int64_t> touched() const { return touched_; }
  const float* sum(size_t i) const { return sums_.data() + i * size_t(width_); }
  /// The sum of a row that has got a gradient.
  const float* sum_of(int64_t row) const { return sum(size_t(place_of_[size_t(row)])); }
  /// Prefetches the table entry that sum_of(row) reads first.
  void ask_for(int64_t row) const { __builtin_prefetch(&place_of_[size_t(row)]); }
  int64_t width() const { return width_; }

 private:
  static constexpr int32_t kNone = -1;
  template <class Id>
  Result<void> add_all(std::span<const Id> ids, const float* gradients);

  int64_t width_;
  std::vector<int32_t> place_of_;  // For each row, its index in touched_; -1: no gradient.
  std::vector<int64_t> touched_;
  std::vector<float> sums_;
};

/// Replaces `sums` (one entry per variable) by the sums of one step's gradients.
Result<void> sum_rows(std::span<const RowGradients> gradients, Denormals denormals, std::span<RowSums> sums);

/// True if all values are 0 (of either sign). Trainers and servers treat a row whose gradient is all 0 as a row without a
/// gradient. So the same rows are updated, whether a push is dense or has single rows.
bool all_zero(const float* values, int64_t count);

}  // namespace shoal::cluster
