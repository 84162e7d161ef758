// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Tells whether elements keep their positions, on which every division of a dataset by position relies.
#include <string_view>

#include "stage.h"

namespace shoal::data {

/// Why an element of `node` may come at another position another time; empty: it does not.
std::string_view why_elements_move(const Node& node);

/// Implements Dataset::overlaps_by_shuffle().
bool cut_behind_one_shuffle(const Node& one, const Node& other);

}  // namespace shoal::data
