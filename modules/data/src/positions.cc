// SPDX-License-Identifier: Apache-2.0
#include "positions.h"

#include <algorithm>
#include <vector>

namespace shoal::data {
namespace {

/// A shuffle that comes before a take or skip in the pipeline, so that its order decides which elements pass.
struct CutShuffle {
  const Node* node;
  bool changes;  ///< True if the order of elements differs between two iterators, or between passes.
};

/// Looks for shuffles among `node` and all nodes before it in the pipeline. Adds to `found` those whose output passes a
/// take or skip later. `cut`: the output of `node` passes a take or skip. `repeated`: the output of `node` passes a node
/// that moves elements, such as repeat, but is no shuffle.
void find_cut_shuffles(const Node& node, bool cut, bool repeated, std::vector<CutShuffle>& found) {
  const bool moves = !node.moves_elements().empty();
  const bool repeats = moves && !node.is_shuffle();
  if (cut && node.is_shuffle() && moves) found.push_back({&node, repeated || node.draws_without_seed()});
  for (const auto& input : node.inputs()) {
    find_cut_shuffles(*input, cut || node.cuts_by_position(), repeated || repeats, found);
  }
}

bool is_same(const Node& one, const Node& other) {
  if (&one == &other) return true;
  if (one.fold_parameters(0) != other.fold_parameters(0)) return false;
  const auto same_input = [](const auto& a, const auto& b) { return is_same(*a, *b); };
  return std::ranges::equal(one.inputs(), other.inputs(), same_input) && one.has_data_of(other);
}

}  // namespace

bool any_node(const Node& node, bool (*is)(const Node&)) {
  return is(node) || std::ranges::any_of(node.inputs(), [&](const auto& input) { return any_node(*input, is); });
}

std::string_view why_elements_move(const Node& node) {
  if (const std::string_view why = node.moves_elements(); !why.empty()) return why;
  const auto is_random = [](const Node& map) { return map.gives_random_values(); };
  if (node.chooses_by_value() && any_node(node, is_random)) {
    return "map that draws random numbers stands before a function that chooses by them";
  }
  for (const auto& input : node.inputs()) {
    if (const std::string_view why = why_elements_move(*input); !why.empty()) return why;
  }
  return {};
}

std::string_view why_trainers_differ(const Node& node) {
  if (node.is_in_any_order() || (node.draws_without_seed() && !node.moves_elements().empty())) return node.moves_elements();
  const auto is_random = [](const Node& map) { return map.gives_random_values() && map.draws_without_seed(); };
  if (node.chooses_by_value() && any_node(node, is_random)) {
    return "map that draws random numbers without a seed stands before a function that chooses by them";
  }
  for (const auto& input : node.inputs()) {
    if (const std::string_view why = why_trainers_differ(*input); !why.empty()) return why;
  }
  return {};
}

Result<std::unique_ptr<Stage>> make_stage_for(PositionNeed need, const Node& input, StageContext& context) {
  const PositionNeed before = context.position_need;
  context.position_need = std::max(before, need);
  Result<std::unique_ptr<Stage>> stage = input.stage(context);
  context.position_need = before;
  return stage;
}

Result<void> check_positions(PositionNeed need, const Node& dataset, std::string_view made_by, Logger& log) {
  if (need == PositionNeed::kNone) return {};
  if (const std::string_view why = why_elements_move(dataset); need == PositionNeed::kFixed && !why.empty()) {
    return invalid_argument("split: elements are held out by their positions, and in a dataset that " +
                            std::string(made_by) + " made, a " + std::string(why) +
                            ", so that elements that are held out would be trained on as well; call split first, and "
                            "shuffle or repeat what it gives for training");
  }
  if (const std::string_view why = why_trainers_differ(dataset); !why.empty()) {
    log.warning_once("shard behind random datasets",
                     "in a dataset that " + std::string(made_by) + " made, a " + std::string(why) +
                         ", and shard then divides the elements of " + std::string(made_by) +
                         ": some elements are lost and others repeat; put shard first, or give that operation a seed");
  }
  return {};
}

bool cut_behind_one_shuffle(const Node& one, const Node& other) {
  std::vector<CutShuffle> of_one, of_other;
  find_cut_shuffles(one, false, false, of_one);
  find_cut_shuffles(other, false, false, of_other);
  return std::ranges::any_of(of_one, [&](const CutShuffle& a) {
    return std::ranges::any_of(of_other,
                               [&](const CutShuffle& b) { return (a.changes || b.changes) && is_same(*a.node, *b.node); });
  });
}

}  // namespace shoal::data
