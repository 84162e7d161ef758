// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Pads elements of different sizes so that they become rows of one batch.
#include <span>

#include "item.h"
#include "shoal/base/random.h"
#include "shoal/data/dataset.h"

namespace shoal::data {

/// The rules of PaddedBatchOptions, for columns of items.
class Padding {
 public:
  explicit Padding(PaddedBatchOptions options) : options_(std::move(options)) {}
  /// InvalidArgument if the options name a tensor that is not there, with another number of axes, or a value of another
  /// type.
  Result<void> check_names(const Item& element) const;
  /// The smallest shape into which column `index` of all these items fits. InvalidArgument if one is larger than the given
  /// size.
  Result<Shape> common_shape(std::span<const Item> items, size_t index) const;
  /// Sets all of `target` to what column `index` of `like` is padded with.
  void fill(const Item& like, size_t index, Tensor& target) const;
  RandomKey fold_parameters(RandomKey key) const;

 private:
  PaddedBatchOptions options_;
};

/// Copies `column` into the corner of row `row` of `target` where all indices begin.
void copy_into_corner(const Column& column, Tensor& target, int64_t row);

}  // namespace shoal::data
