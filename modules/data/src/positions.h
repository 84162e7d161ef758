// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Tells whether each element of a dataset has the same position in every pass and run. Only then can a dataset be divided
/// by position, for example into training and evaluation.
#include <string_view>

#include "stage.h"

namespace shoal::data {

/// Returns why elements of `node` may have other positions in another pass or run; empty if their positions never change.
std::string_view why_elements_move(const Node& node);

/// Returns whether both nodes are parts (take, skip) of one shuffled dataset whose order changes from pass to pass or from
/// run to run. Elements of one part may then appear in the other, too (Dataset::overlaps_by_shuffle()).
bool cut_behind_one_shuffle(const Node& one, const Node& other);

}  // namespace shoal::data
