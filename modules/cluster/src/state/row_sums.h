// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The gradient of a variable that is updated by rows, as one sum for each row that a batch touches.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "shoal/base/result.h"
#include "shoal/base/tensor.h"
#include "shoal/cluster/row_gradients.h"
#include "shoal/cluster/shard_plan.h"

namespace shoal::cluster {

/// Rows of a large table lie far apart: who goes through them asks for the memory of one so many before it is needed, since
/// each would else be waited for alone.
inline constexpr size_t kRowsAhead = 12;

/// Costs what is added, never the variable's size: a place per row is kept from step to step, and only those of touched
/// rows are cleared. Allocates until it has seen the largest batch, then no more.
class RowSums {
 public:
  RowSums(int64_t rows, int64_t width) : width_(width), place_of_(size_t(rows), kNone) {}
  /// Row numbers travel as 32 bits.
  static constexpr int64_t kRowsMax = int64_t(1) << 32;
  /// Sums for the whole of `variable`, which is called `name`. NotFound if it is null, that is, if there is no such
  /// variable; FailedPrecondition if it cannot be updated by rows: it does not have lazy rows, or more than kRowsMax of
  /// them.
  static Result<RowSums> make(const VariableSpec* variable, const std::string& name);

  /// Row i of `gradients` belongs to row ids[i]; what belongs to one row is added up in order. `ids` is int64 or int32,
  /// `gradients` float32 with as many rows of this width. InvalidArgument if they do not fit or an id is outside.
  Result<void> add(const TensorView& ids, const TensorView& gradients);
  void clear();

  /// Row numbers, in the order in which they came.
  std::span<const int64_t> touched() const { return touched_; }
  const float* sum(size_t i) const { return sums_.data() + i * size_t(width_); }
  /// The sum of a touched row.
  const float* sum_of(int64_t row) const { return sum(size_t(place_of_[size_t(row)])); }
  /// Fetches the memory that sum_of() looks at first.
  void ask_for(int64_t row) const { __builtin_prefetch(&place_of_[size_t(row)]); }
  int64_t width() const { return width_; }

 private:
  static constexpr int32_t kNone = -1;
  template <class Id>
  Result<void> add_all(std::span<const Id> ids, const float* gradients);

  int64_t width_;
  std::vector<int32_t> place_of_;  // Which of touched_ a row is, by row.
  std::vector<int64_t> touched_;
  std::vector<float> sums_;
};

/// The sums of one step, by variable, instead of those of the step before.
Result<void> sum_rows(std::span<const RowGradients> gradients, Denormals denormals, std::span<RowSums> sums);

/// Whether all are 0 (of either sign). A row with such a gradient counts as not touched: what trainers sum up and what
/// servers find in a dense push are then the same rows.
bool all_zero(const float* values, int64_t count);

}  // namespace shoal::cluster
