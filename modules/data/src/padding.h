// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Pads elements of different sizes so that they become rows of one batch.
#include <span>

#include "item.h"
#include "shoal/base/random.h"
#include "shoal/data/dataset.h"

namespace shoal::data {

/// Applies PaddedBatchOptions to the tensors of items.
class Padding {
 public:
  explicit Padding(PaddedBatchOptions options) : options_(std::move(options)) {}
  /// InvalidArgument if the options name a tensor that `element` lacks, give a tensor another number of axes than it
  /// has, or give it a padding value of another type.
  Result<void> check_names(const Item& element) const;
  /// Returns the smallest shape into which column `index` of each item fits. InvalidArgument if a column is larger than the
  /// size given in the options.
  Result<Shape> common_shape(std::span<const Item> items, size_t index) const;
  /// Fills all of `target` with the padding value that the options give for column `index` of the element `like`.
  void fill(const Item& like, size_t index, Tensor& target) const;
  RandomKey fold_parameters(RandomKey key) const;

 private:
  PaddedBatchOptions options_;
};

/// Copies a tensor, `column`, into row `row` of the batch `target`. The batch may be longer along any axis: the copy fills
/// the beginning of each axis.
void copy_into_corner(const Column& column, Tensor& target, int64_t row);

}  // namespace shoal::data
