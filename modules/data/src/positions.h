// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Tells whether each element of a dataset has the same position in every pass and run. Only then can a dataset be divided
/// by position, for example into training and evaluation.
#include <string_view>

#include "stage.h"

namespace shoal::data {

/// Returns why elements of `node` may have other positions in another pass or run; empty if their positions never change.
std::string_view why_elements_move(const Node& node);

/// Returns why trainers may have other elements at the positions of `node` than each other; empty if they do not differ.
std::string_view why_trainers_differ(const Node& node);

/// Makes the stage of `input` for a stage that divides its elements by position.
Result<std::unique_ptr<Stage>> make_stage_for(PositionNeed need, const Node& input, StageContext& context);

/// Called with each dataset that a flat_map or interleave has made, since a need of positions cannot be checked before.
/// Returns InvalidArgument if split() needs fixed positions and elements of `dataset` move, and logs one warning if trainers
/// have other elements than each other before shard().
Result<void> check_positions(PositionNeed need, const Node& dataset, std::string_view made_by, Logger& log);

/// Returns whether `is` holds for `node` or a node before it.
bool any_node(const Node& node, bool (*is)(const Node&));

/// Returns whether both nodes are parts (take, skip) of one shuffled dataset whose order changes from pass to pass or from
/// run to run. Elements of one part may then appear in the other, too (Dataset::overlaps_by_shuffle()).
bool cut_behind_one_shuffle(const Node& one, const Node& other);

}  // namespace shoal::data
