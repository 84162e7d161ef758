// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Tells whether elements keep their positions; every division of a dataset by position relies on that.
#include <string_view>

#include "stage.h"

namespace shoal::data {

/// Returns why elements of `node` may change their positions from one pass or run to another; empty: they keep them.
std::string_view why_elements_move(const Node& node);

/// Implements Dataset::overlaps_by_shuffle().
bool cut_behind_one_shuffle(const Node& one, const Node& other);

}  // namespace shoal::data
