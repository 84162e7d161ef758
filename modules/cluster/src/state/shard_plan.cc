// SPDX-License-Identifier: Apache-2.0
#include "shoal/cluster/shard_plan.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>
#include <utility>

#include "shoal/base/buffer.h"

namespace shoal::cluster {
namespace {

constexpr size_t kPlannedNameBytesMax = 256;

int64_t rows_of(const Shape& shape) { return shape.rank() == 0 ? 1 : shape[0]; }

uint64_t bytes_of(const VariableSpec& variable) { return uint64_t(variable.shape.elements()) * size_of(variable.dtype); }

Result<void> check(const VariableSpec& variable, std::set<std::string_view>& names) {
  if (variable.name.empty()) return invalid_argument("a variable without a name cannot be placed on a server");
  if (variable.name.size() > kPlannedNameBytesMax) {
    return invalid_argument("variable " + variable.name.substr(0, 64) +
                            "...: names have at most 256 bytes, and this one has " + std::to_string(variable.name.size()) +
                            "; give the column or layer that it is named after a shorter name");
  }
  if (!names.insert(variable.name).second) {
    return invalid_argument("variable " + variable.name + " is there twice; names must differ");
  }
  if (variable.dtype != DType::kFloat32) {
    return invalid_argument("variable " + variable.name + " is " + std::string(to_string(variable.dtype)) +
                            "; variables are float32");
  }
  return nn::validate(variable.rule);
}

uint64_t row_bytes_of(const VariableSpec& variable) {
  const int64_t rows = rows_of(variable.shape);
  return rows == 0 ? 0 : bytes_of(variable) / uint64_t(rows);
}

/// Checks that a row of the variable fits into one part, that is, into one message. If the update rule needs the whole
/// variable at once, checks that the whole variable fits.
Result<void> check_pieces(const VariableSpec& variable, uint64_t part_bytes_max) {
  const bool whole = nn::needs_whole_variable(variable.rule);
  const uint64_t piece = whole ? bytes_of(variable) : row_bytes_of(variable);
  if (piece <= part_bytes_max) return {};
  const std::string what = whole ? "has " : "has rows of ";
  const std::string why = whole ? " and its update rule needs it whole on one server; one message carries at most "
                                : "; one message carries at most ";
  return invalid_argument("variable " + variable.name + " " + what + std::to_string(piece) + " bytes" + why +
                          std::to_string(part_bytes_max));
}

/// Appends rows of a variable to a shard: as one segment or, if it would be too long for one message, as several.
void append(ShardSpec& shard, const VariableSpec& variable, int64_t row_begin, int64_t row_end) {
  const uint64_t row_bytes = row_bytes_of(variable);
  const int64_t rows_max = row_bytes == 0 ? row_end - row_begin : int64_t(shard.part_bytes_max / row_bytes);
  do {
    const int64_t end = std::min(row_end, row_begin + rows_max);
    shard.segments.push_back({.variable = variable,
                              .row_begin = row_begin,
                              .row_end = end,
                              .offset = shard.arena_bytes,
                              .bytes = row_bytes * uint64_t(end - row_begin)});
    shard.arena_bytes += align_up(shard.segments.back().bytes);
    row_begin = end;
  } while (row_begin < row_end);
  shard.slot_count = std::max(shard.slot_count, int32_t(nn::slot_count(variable.rule)));
}

/// Rows to place on a shard: row_begin to row_end - 1 of the variable with index `variable` in the model.
struct Piece {
  size_t variable;
  int64_t row_begin, row_end;
};

void place_balanced(ShardPlan& plan, const std::vector<VariableSpec>& variables) {
  const uint64_t total = std::accumulate(variables.begin(), variables.end(), uint64_t(0),
                                         [](uint64_t sum, const VariableSpec& v) { return sum + bytes_of(v); });
  const uint64_t share = total / plan.shards.size() + 1;
  std::vector<size_t> order(variables.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::ranges::stable_sort(order, std::greater<>(), [&variables](size_t i) { return bytes_of(variables[i]); });
  std::vector<std::vector<Piece>> placed(plan.shards.size());
  std::vector<uint64_t> placed_bytes(plan.shards.size());
  for (const size_t i : order) {
    const VariableSpec& variable = variables[i];
    const int64_t rows = rows_of(variable.shape);
    int64_t pieces = 1;
    const bool may_split = plan.shards.size() > 1 && !nn::needs_whole_variable(variable.rule);
    if (may_split && bytes_of(variable) > 2 * share) {
      pieces = std::min<int64_t>({rows, int64_t(plan.shards.size()), int64_t(bytes_of(variable) / share + 1)});
    }
    for (int64_t k = 0; k < pieces; ++k) {
      const Piece piece{i, rows * k / pieces, rows * (k + 1) / pieces};
      const auto lightest = size_t(std::ranges::min_element(placed_bytes) - placed_bytes.begin());
      placed[lightest].push_back(piece);
      placed_bytes[lightest] += align_up(row_bytes_of(variable) * uint64_t(piece.row_end - piece.row_begin));
    }
  }
  // Sorts variables in the model's order: weights that the model needs first are then received first. Their gradients
  // are computed last, and sent last.
  for (size_t shard = 0; shard < placed.size(); ++shard) {
    std::ranges::sort(placed[shard], {}, [](const Piece& piece) { return std::pair(piece.variable, piece.row_begin); });
    for (const Piece& piece : placed[shard]) {
      append(plan.shards[shard], variables[piece.variable], piece.row_begin, piece.row_end);
    }
  }
}

Result<void> place_by(ShardPlan& plan, const std::vector<VariableSpec>& variables, const Placement& placement) {
  const int servers = int(plan.shards.size());
  for (const VariableSpec& variable : variables) {
    SHOAL_TRY(const int server, placement(variable.name, variable.shape, servers));
    if (server < 0 || server >= servers) {
      return invalid_argument("placement gave server " + std::to_string(server) + " for variable " + variable.name +
                              "; there are servers 0 to " + std::to_string(servers - 1));
    }
    append(plan.shards[size_t(server)], variable, 0, rows_of(variable.shape));
  }
  return {};
}

}  // namespace

int64_t Segment::first_element() const {
  const int64_t rows = row_end - row_begin;
  return rows == 0 ? 0 : row_begin * (elements() / rows);
}

std::vector<ShardPart> parts_of(const ShardSpec& spec) {
  ShardSpec none = spec;
  none.segments.clear();
  none.arena_bytes = 0;
  std::vector<ShardPart> parts{{0, none}};
  const auto end_at = [&parts](uint64_t end) { parts.back().spec.arena_bytes = end - parts.back().begin; };
  for (const Segment& segment : spec.segments) {
    const bool full = segment.offset + align_up(segment.bytes) - parts.back().begin > spec.part_bytes_max;
    const bool alone = segment.bytes >= spec.own_part_bytes;
    const bool enough = segment.offset - parts.back().begin >= spec.own_part_bytes;
    if ((full || alone || enough) && segment.offset > parts.back().begin) {
      end_at(segment.offset);
      parts.push_back({segment.offset, none});
    }
    parts.back().spec.segments.push_back(segment);
    parts.back().spec.segments.back().offset -= parts.back().begin;
  }
  end_at(spec.arena_bytes);
  return parts;
}

Result<ShardPlan> plan_shards(const std::vector<VariableSpec>& variables, int servers, int scalar_count,
                              const Placement& placement, uint64_t part_bytes_max, uint64_t own_part_bytes,
                              uint64_t own_parts_max) {
  SHOAL_CHECK(servers >= 1 && scalar_count >= 0 && part_bytes_max > 0 && part_bytes_max % kBufferAlignment == 0);
  SHOAL_CHECK(own_part_bytes > 0 && own_parts_max > 0);
  std::set<std::string_view> names;
  for (const VariableSpec& variable : variables) {
    SHOAL_TRY_VOID(check(variable, names));
    SHOAL_TRY_VOID(check_pieces(variable, part_bytes_max));
  }
  ShardPlan plan;
  plan.shards.resize(size_t(servers),
                     ShardSpec{.segments = {}, .part_bytes_max = part_bytes_max, .own_part_bytes = own_part_bytes});
  if (placement) {
    SHOAL_TRY_VOID(place_by(plan, variables, placement));
  } else {
    place_balanced(plan, variables);
  }
  for (ShardSpec& shard : plan.shards) {
    shard.scalar_count = scalar_count;
    shard.arena_bytes = std::max<uint64_t>(shard.arena_bytes, kBufferAlignment);
    shard.own_part_bytes = std::max(own_part_bytes, shard.arena_bytes / own_parts_max);
  }
  return plan;
}

uint64_t ShardPlan::fingerprint() const {
  RandomKey hash = shards.size();
  for (const ShardSpec& shard : shards) hash = fold_in(hash, to_json(shard));
  return hash;
}

}  // namespace shoal::cluster
