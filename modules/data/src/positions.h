// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Tells whether each element of a dataset has the same position in every pass and run. Only then can a dataset be divided
/// by position, for example into training and evaluation.
#include <string_view>

#include "stage.h"

namespace shoal::data {

/// Returns why elements of `node` may change their positions from one pass or run to another; empty: they keep them.
std::string_view why_elements_move(const Node& node);

/// Returns whether both nodes take parts by position (take, skip) behind one shuffle whose order changes, so that elements
/// of one part may appear in the other, too (Dataset::overlaps_by_shuffle()).
bool cut_behind_one_shuffle(const Node& one, const Node& other);

}  // namespace shoal::data
