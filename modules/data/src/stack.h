// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Elements as the rows of one: what batch, padded_batch, window and bucket_by_length make.
#include <span>

#include "item.h"
#include "padding.h"

namespace shoal::data {

/// Stacks `rows`, at least one, along a new first dimension into `item`'s own element, whose storage is reused, with the records that
/// the rows come from. `padding`: null if all have to be alike. InvalidArgument, beginning with `what` ("batch"), if they cannot be
/// stacked.
Result<void> stack(std::string_view what, std::span<const Item> rows, const Padding* padding, BufferPool& pool, Item& item);

}  // namespace shoal::data
