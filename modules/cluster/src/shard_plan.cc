#include "shoal/cluster/shard_plan.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "shoal/base/buffer.h"

namespace shoal::cluster {
namespace {

constexpr size_t kNameBytesMax = 256;
constexpr uint64_t kArenaBytesMax = uint64_t(1) << 30;  // one message carries one arena

int64_t rows_of(const Shape& shape) { return shape.rank() == 0 ? 1 : shape[0]; }

uint64_t bytes_of(const VariableSpec& variable) {
  return uint64_t(variable.shape.elements()) * size_of(variable.dtype);
}

Result<void> check(const VariableSpec& variable, std::set<std::string_view>& names) {
  if (variable.name.empty()) return invalid_argument("a variable without a name cannot be placed on a server");
  if (variable.name.size() > kNameBytesMax) {
    return invalid_argument("variable " + variable.name.substr(0, 64) + "...: names have at most 256 bytes");
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

void append(ShardSpec& shard, const VariableSpec& variable, int64_t row_begin, int64_t row_end) {
  const int64_t rows = rows_of(variable.shape);
  const uint64_t row_bytes = rows == 0 ? 0 : bytes_of(variable) / uint64_t(rows);
  Segment segment{.variable = variable, .row_begin = row_begin, .row_end = row_end, .offset = shard.arena_bytes,
                  .bytes = row_bytes * uint64_t(row_end - row_begin)};
  shard.arena_bytes += align_up(segment.bytes);
  shard.slot_count = std::max(shard.slot_count, int32_t(nn::slot_count(variable.rule)));
  shard.segments.push_back(std::move(segment));
}

size_t lightest(const std::vector<ShardSpec>& shards) {
  return size_t(std::min_element(shards.begin(), shards.end(),
                                 [](const ShardSpec& a, const ShardSpec& b) { return a.arena_bytes < b.arena_bytes; }) -
                shards.begin());
}

void place_balanced(ShardPlan& plan, const std::vector<VariableSpec>& variables) {
  const uint64_t total = std::accumulate(variables.begin(), variables.end(), uint64_t(0),
                                         [](uint64_t sum, const VariableSpec& v) { return sum + bytes_of(v); });
  const uint64_t share = total / plan.shards.size() + 1;
  std::vector<const VariableSpec*> order;
  for (const VariableSpec& variable : variables) order.push_back(&variable);
  std::stable_sort(order.begin(), order.end(),
                   [](const VariableSpec* a, const VariableSpec* b) { return bytes_of(*a) > bytes_of(*b); });
  for (const VariableSpec* variable : order) {
    const int64_t rows = rows_of(variable->shape);
    int64_t pieces = 1;
    const bool may_split = plan.shards.size() > 1 && !nn::needs_whole_variable(variable->rule);
    if (may_split && bytes_of(*variable) > 2 * share) {
      pieces = std::min<int64_t>({rows, int64_t(plan.shards.size()), int64_t(bytes_of(*variable) / share + 1)});
    }
    for (int64_t i = 0; i < pieces; ++i) {
      append(plan.shards[lightest(plan.shards)], *variable, rows * i / pieces, rows * (i + 1) / pieces);
    }
  }
}

Result<void> place_by(ShardPlan& plan, const std::vector<VariableSpec>& variables, const Placement& placement) {
  const int servers = int(plan.shards.size());
  for (const VariableSpec& variable : variables) {
    const int server = placement(variable.name, variable.shape, servers);
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

Result<ShardPlan> plan_shards(const std::vector<VariableSpec>& variables, int servers, int scalar_count,
                              const Placement& placement) {
  SHOAL_CHECK(servers >= 1 && scalar_count >= 0);
  std::set<std::string_view> names;
  for (const VariableSpec& variable : variables) SHOAL_TRY_VOID(check(variable, names));
  ShardPlan plan;
  plan.shards.resize(size_t(servers));
  if (placement) {
    SHOAL_TRY_VOID(place_by(plan, variables, placement));
  } else {
    place_balanced(plan, variables);
  }
  for (size_t i = 0; i < plan.shards.size(); ++i) {
    ShardSpec& shard = plan.shards[i];
    shard.scalar_count = scalar_count;
    shard.arena_bytes = std::max<uint64_t>(shard.arena_bytes, kBufferAlignment);
    if (shard.arena_bytes > kArenaBytesMax) {
      return invalid_argument("server " + std::to_string(i) + " would hold " + std::to_string(shard.arena_bytes >> 20) +
                              " MiB; one holds at most 1024 MiB, so use more servers");
    }
  }
  return plan;
}

uint64_t ShardPlan::fingerprint() const {
  RandomKey hash = shards.size();
  for (const ShardSpec& shard : shards) hash = fold_in(hash, to_json(shard));
  return hash;
}

}  // namespace shoal::cluster
