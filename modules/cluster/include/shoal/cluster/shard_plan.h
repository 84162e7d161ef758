// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Which parameter server holds which variable, and where inside its arena. A pure function of the variables and the
/// number of servers, so every trainer computes the same plan (CONTRACT PSV-2).
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/cpu.h"
#include "shoal/base/random.h"
#include "shoal/base/result.h"
#include "shoal/base/tensor.h"
#include "shoal/graph/graph.h"
#include "shoal/nn/update_rule.h"

namespace shoal::cluster {

/// A variable as a server sees it: nothing of the model but how it starts and how it is updated.
struct VariableSpec {
  std::string name;
  DType dtype = DType::kFloat32;
  Shape shape;
  Initializer initializer;
  RandomKey key = 0;  ///< The key of the initializer: element i is a pure function of (initializer, key, i).
  nn::UpdateRule rule;
  /// Rows without a gradient in a step, or with one that is all zero, keep weights and slots as they are, whatever the rule
  /// would do to them (momentum, Adam).
  bool lazy_rows = false;
  friend bool operator==(const VariableSpec&, const VariableSpec&) = default;
};

/// A row range of one variable inside a shard's arena. Most variables are one segment of one shard.
struct Segment {
  VariableSpec variable;
  int64_t row_begin = 0;  ///< Rows are the first dimension; a scalar has one row.
  int64_t row_end = 0;
  uint64_t offset = 0;  ///< Bytes from the start of the arena, a multiple of 64.
  uint64_t bytes = 0;
  friend bool operator==(const Segment&, const Segment&) = default;

  int64_t elements() const { return int64_t(bytes / size_of(variable.dtype)); }
  int64_t first_element() const;  ///< The number of the segment's first element in the variable.
};

/// One message carries at most so many bytes of an arena: FlatBuffers end at 2 GiB.
inline constexpr uint64_t kPartBytesMax = uint64_t(1) << 30;
/// No limit, for arenas that do not travel.
inline constexpr uint64_t kOnePart = ~uint64_t(63);
/// A shard of more bytes than this travels in parts of at least so many: gradients of some leave while those of others are
/// computed (decision 0099).
inline constexpr uint64_t kOwnPartBytes = uint64_t(4) << 20;
/// So many parts of that size at most, and one more than that between them: each costs a message, and memory beside it.
inline constexpr uint64_t kOwnPartsMax = 8;

/// What one server holds: one arena, the same layout for weights, gradients and each slot. A large one is cut into parts.
struct ShardSpec {
  std::vector<Segment> segments;            ///< Segments in order of offset.
  uint64_t arena_bytes = 0;                 ///< A multiple of 64, and at least 64.
  int32_t slot_count = 0;                   ///< The largest slot count among the segments' rules.
  int32_t scalar_count = 0;                 ///< How many scalars come with each push.
  uint64_t part_bytes_max = kPartBytesMax;  ///< A multiple of 64.
  uint64_t own_part_bytes = kOnePart;       ///< So many bytes are enough for a part, and a segment of them is one. Not 0.
  Denormals denormals = Denormals::kZero;   ///< What updates take denormal floats for.
  friend bool operator==(const ShardSpec&, const ShardSpec&) = default;
};

/// What of a shard travels as one message, and is contiguous memory at both ends.
struct ShardPart {
  uint64_t begin = 0;  ///< The part's first byte in the arena of the shard.
  ShardSpec spec;      ///< A spec of the part alone: its offsets count from `begin`.
};
/// The parts of an arena, in order, cut between segments: each has no more than fit into part_bytes_max, and ends where it
/// has own_part_bytes; a segment of so many bytes is alone. At least one.
std::vector<ShardPart> parts_of(const ShardSpec& spec);

struct ShardPlan {
  std::vector<ShardSpec> shards;
  /// A hash of 64 bits: two tasks with equal plans agree on it.
  uint64_t fingerprint() const;
};

/// RunConfig.placement: the server (0 .. servers - 1) of a variable.
using Placement = std::function<int(std::string_view name, const Shape& shape, int servers)>;

/// Balances bytes: variables go, largest first, to the server that holds least (first among equals); a variable larger
/// than twice an even share is split by rows into pieces of an even share, unless its rule needs it whole. On a server they
/// lie in the order of `variables`, in which a model reads them. `scalar_count`: learning rates and the like in each push.
/// InvalidArgument for an empty name, two variables of one name, a dtype other than float32 (the only one that update rules
/// know), a placement outside 0 .. servers - 1, a row, or a variable that its rule needs whole, above `part_bytes_max` (a
/// multiple of 64). Larger variables are several segments then.
/// Each shard's own_part_bytes is the one given, or its arena over `own_parts_max` where that is more.
Result<ShardPlan> plan_shards(const std::vector<VariableSpec>& variables, int servers, int scalar_count,
                              const Placement& placement = nullptr, uint64_t part_bytes_max = kPartBytesMax,
                              uint64_t own_part_bytes = kOnePart, uint64_t own_parts_max = kOwnPartsMax);

/// The spec as JSON for the server that shall hold it, and back. parse: InvalidArgument saying what is wrong; checks
/// limits (65,536 segments, names of 256 bytes, arenas of 1 TiB, parts of 1 GiB) and that segments neither overlap nor
/// leave the arena.
std::string to_json(const ShardSpec& spec);
Result<ShardSpec> parse_shard_spec(std::string_view json);

}  // namespace shoal::cluster
