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
  if (cut && node.is_shuffle() && moves) found.push_back({&node, repeated || node.is_unseeded_shuffle()});
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

std::string_view why_elements_move(const Node& node) {
  if (const std::string_view why = node.moves_elements(); !why.empty()) return why;
  for (const auto& input : node.inputs()) {
    if (const std::string_view why = why_elements_move(*input); !why.empty()) return why;
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
