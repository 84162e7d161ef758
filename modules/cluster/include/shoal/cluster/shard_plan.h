// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Assigns each variable to a parameter server, and to a position in the server's arena, the one block of memory that holds
/// its weights. The plan is a pure function of the variables and the number of servers, so that every trainer computes the
/// same plan.
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

/// A variable as a server sees it: its initial values, and how it is updated.
struct VariableSpec {
  std::string name;
  DType dtype = DType::kFloat32;
  Shape shape;
  Initializer initializer;
  RandomKey key = 0;  ///< The initializer's key: element i is a pure function of (initializer, key, i).
  nn::UpdateRule rule;
  /// True: a row whose gradient in a step is missing or all zero keeps its weights and slots, even if the update rule
  /// would change them (momentum, Adam).
  bool lazy_rows = false;
  friend bool operator==(const VariableSpec&, const VariableSpec&) = default;
};

/// A range of rows of one variable in a shard's memory (arena). Most variables are one segment of one shard.
struct Segment {
  VariableSpec variable;
  int64_t row_begin = 0;  ///< The first row. Rows are counted along the first axis; a scalar has one row.
  int64_t row_end = 0;
  uint64_t offset = 0;  ///< Where it begins in the shard's memory (arena), in bytes; a multiple of 64.
  uint64_t bytes = 0;
  friend bool operator==(const Segment&, const Segment&) = default;

  int64_t elements() const { return int64_t(bytes / size_of(variable.dtype)); }
  int64_t first_element() const;  ///< The position of the segment's first element in the variable.
};

/// The most bytes of an arena that one message carries: a FlatBuffer ends at 2 GiB.
inline constexpr uint64_t kPartBytesMax = uint64_t(1) << 30;
/// The part size for arenas that are never sent: the whole arena is one part.
inline constexpr uint64_t kOnePart = ~uint64_t(63);
/// The least size of a part of a shard. A larger shard is sent in several parts, so that some gradients are sent while
/// others are still computed (docs/decisions/overlap-of-network-and-compute.md).
inline constexpr uint64_t kOwnPartBytes = uint64_t(4) << 20;
/// The most parts of own_part_bytes or more that a shard is divided into. Smaller parts are not counted: one may lie before
/// these parts, one after them, and one between any two of them. The number is limited because each part needs a message of
/// its own, and memory for the message.
inline constexpr uint64_t kOwnPartsMax = 8;

/// The variables that one server holds, and their layout in a block of memory (arena). Weights, gradients and each slot
/// have a block of this layout. A large block is sent in several parts.
struct ShardSpec {
  std::vector<Segment> segments;            ///< In order of offset.
  uint64_t arena_bytes = 0;                 ///< A multiple of 64, and at least 64.
  int32_t slot_count = 0;                   ///< The largest slot count among the segments' rules.
  int32_t scalar_count = 0;                 ///< The number of scalars in each push.
  uint64_t part_bytes_max = kPartBytesMax;  ///< A multiple of 64.
  /// parts_of() ends a part once it has this many bytes. A segment of at least this size is a part of its own. Never 0.
  uint64_t own_part_bytes = kOnePart;
  Denormals denormals = Denormals::kZero;  ///< How updates treat denormal floats.
  friend bool operator==(const ShardSpec&, const ShardSpec&) = default;
};

/// A range of a shard's arena that is sent as one message, and is contiguous memory in sender and receiver.
struct ShardPart {
  uint64_t begin = 0;  ///< The part's first byte in the arena of the shard.
  ShardSpec spec;      ///< The spec of this part only. Offsets in it count from `begin`.
};
/// Divides an arena into parts, in order: each has whole segments, of at most part_bytes_max bytes together. A part ends as
/// soon as it has own_part_bytes or more. A segment of at least own_part_bytes is a part of its own. There is at least one
/// part.
std::vector<ShardPart> parts_of(const ShardSpec& spec);

struct ShardPlan {
  std::vector<ShardSpec> shards;
  /// A 64-bit hash of the plan: tasks with equal plans have equal fingerprints.
  uint64_t fingerprint() const;
};

/// Returns the server (0 .. servers - 1) for a variable, or why there is none.
using Placement = std::function<Result<int>(std::string_view name, const Shape& shape, int servers)>;

/// Balances the servers by bytes. Variables are placed largest first, each on the server that has least so far (the
/// first of equals). A variable larger than twice an even share is split by rows into pieces of an even share, unless
/// its rule needs the whole variable. On a server, variables lie in the order of `variables`, the order in which a
/// model reads them.
///
/// `scalar_count` is the number of scalars (learning rates and the like) in each push. A variable of more than
/// `part_bytes_max` bytes (a multiple of 64) becomes several segments. ShardSpec::own_part_bytes of each shard is
/// `own_part_bytes`, or the shard's arena_bytes divided by `own_parts_max` if that is more.
///
/// InvalidArgument for an empty name, two variables of one name, a dtype other than float32 (the only one that update
/// rules know), a placement outside 0 .. servers - 1, and a row, or a variable that its rule needs whole, of more than
/// `part_bytes_max` bytes.
Result<ShardPlan> plan_shards(const std::vector<VariableSpec>& variables, int servers, int scalar_count,
                              const Placement& placement = nullptr, uint64_t part_bytes_max = kPartBytesMax,
                              uint64_t own_part_bytes = kOnePart, uint64_t own_parts_max = kOwnPartsMax);

/// to_json() writes the spec for the server that will hold the shard; parse_shard_spec() reads it. Parsing checks
/// limits (65,536 segments, names of 256 bytes, arenas of 1 TiB, parts of 1 GiB), and that segments neither overlap nor
/// leave the arena. InvalidArgument says what is wrong.
std::string to_json(const ShardSpec& spec);
Result<ShardSpec> parse_shard_spec(std::string_view json);

}  // namespace shoal::cluster
