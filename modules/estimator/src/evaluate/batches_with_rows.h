// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Batches for a model: those of a dataset that have rows.
#include <memory>

#include "shoal/data/dataset.h"

namespace shoal {

/// An iterator over `dataset` that passes over batches without rows, with a warning for the first. A filter on rows of a batch
/// or a generator makes such; their mean loss would be NaN, and they have nothing to train on. Positions are those of the
/// dataset's own iterator. InvalidArgument from next() after a million of them in a row.
Result<std::unique_ptr<data::Iterator>> iterate_batches_with_rows(Environment& env, const data::Dataset& dataset,
                                                                  const data::IterateOptions& options);

}  // namespace shoal
