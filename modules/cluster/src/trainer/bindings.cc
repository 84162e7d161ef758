// SPDX-License-Identifier: Apache-2.0
#include "trainer/bindings.h"

#include <algorithm>
#include <map>
#include <string_view>

namespace shoal::cluster {
namespace {

/// Lists, for each named variable, its segments in order of rows, and where each of them lies in the shards' arenas. A
/// template, since the program may only read variables (Piece), but writes updates (MutablePiece).
template <class PieceType, class SpanType, class Place>
Result<void> collect(const ShardPlan& plan, const std::vector<std::string>& names, std::vector<PieceType>& pieces,
                     std::vector<SpanType>& spans, std::vector<std::vector<Place>>& places) {
  struct Found {
    size_t shard;
    const Segment* segment;
  };
  std::map<std::string_view, std::vector<Found>> segments;  // By variable.
  for (size_t shard = 0; shard < plan.shards.size(); ++shard) {
    for (const Segment& segment : plan.shards[shard].segments) segments[segment.variable.name].push_back({shard, &segment});
  }
  pieces.clear();
  places.assign(plan.shards.size(), {});
  std::vector<std::pair<size_t, size_t>> ranges;
  for (const std::string& name : names) {
    const auto at = segments.find(name);
    if (at == segments.end())
      return not_found("variable " + name + " is on no server; is it a variable of the trained model?");
    std::vector<Found> found = at->second;
    std::sort(found.begin(), found.end(),
              [](const Found& a, const Found& b) { return a.segment->row_begin < b.segment->row_begin; });
    ranges.emplace_back(pieces.size(), found.size());
    for (const Found& piece : found) {
      places[piece.shard].push_back({ranges.size() - 1, pieces.size(), piece.segment->offset});
      pieces.push_back({nullptr, piece.segment->row_begin, piece.segment->row_end});
    }
  }
  spans.clear();
  for (auto [first, count] : ranges) spans.push_back(SpanType(pieces.data() + first, count));
  return {};
}

}  // namespace

Result<void> Bindings::bind(const ShardPlan& plan, const std::vector<std::string>& variables,
                            const std::vector<std::string>& updates) {
  SHOAL_TRY_VOID(collect(plan, variables, variable_pieces_, variable_spans_, variable_places_));
  return collect(plan, updates, update_pieces_, update_spans_, update_places_);
}

std::vector<std::vector<size_t>> Bindings::by_name(const std::vector<std::vector<Place>>& places, size_t names) {
  std::vector<std::vector<size_t>> shards(names);
  for (size_t shard = 0; shard < places.size(); ++shard) {
    for (const Place& place : places[shard]) shards[place.name].push_back(shard);
  }
  return shards;
}

void Bindings::set_weights(size_t shard, const std::byte* arena) {
  for (const Place& place : variable_places_[shard]) variable_pieces_[place.piece].data = arena + place.offset;
}

void Bindings::set_updates(size_t shard, std::byte* arena) {
  for (const Place& place : update_places_[shard]) update_pieces_[place.piece].data = arena + place.offset;
}

}  // namespace shoal::cluster
