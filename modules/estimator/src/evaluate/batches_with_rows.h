// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Gives a model the batches of a dataset that have rows.
#include <memory>

#include "shoal/data/dataset.h"

namespace shoal {

/// Returns an iterator over `dataset` that skips batches without rows, with a warning for the first one. A filter on the
/// rows of a batch, or a generator, can make such batches. They have nothing to train on, and their mean loss would be NaN.
/// The iterator's positions are those of the dataset's own iterator. Its next() returns InvalidArgument after a million
/// empty batches in a row.
Result<std::unique_ptr<data::Iterator>> iterate_batches_with_rows(Environment& env, const data::Dataset& dataset,
                                                                  const data::IterateOptions& options);

}  // namespace shoal
