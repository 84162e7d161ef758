// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Variables, plans and pushes for tests of a server's state.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "shoal/base/buffer.h"
#include "shoal/cluster/shard_plan.h"
#include "shoal/cluster/store.h"

namespace shoal::cluster {

inline nn::UpdateRule sgd() { return {.kind = nn::UpdateRule::Kind::kSgd, .constants = {}, .learning_rate_scalar = 0}; }
inline nn::UpdateRule momentum(double value = 0.5) {
  return {.kind = nn::UpdateRule::Kind::kMomentum, .constants = {value, 0}, .learning_rate_scalar = 0};
}
inline nn::UpdateRule adam() {
  return {.kind = nn::UpdateRule::Kind::kAdam, .constants = {0.9, 0.999, 1e-7}, .learning_rate_scalar = 0};
}
inline Initializer constant(double value) { return {Initializer::Kind::kConstant, value, 0}; }
inline Initializer uniform(double low, double high) { return {Initializer::Kind::kUniform, low, high}; }

inline VariableSpec variable(std::string name, Shape shape, nn::UpdateRule rule = sgd(),
                             Initializer initializer = constant(0), RandomKey key = 7) {
  return {.name = std::move(name),
          .dtype = DType::kFloat32,
          .shape = shape,
          .initializer = initializer,
          .key = key,
          .rule = rule};
}

/// Small where a run of the tests shall see arenas in many parts.
inline uint64_t part_bytes_max() {
  const char* asked = std::getenv("SHOAL_TEST_PART_BYTES");
  return asked ? std::strtoull(asked, nullptr, 10) : kPartBytesMax;
}
/// Makes a plan, which must succeed; one scalar (the learning rate) comes with each push.
inline ShardPlan plan_of(const std::vector<VariableSpec>& variables, int servers, const Placement& placement = nullptr) {
  return value_or_raise(plan_shards(variables, servers, 1, placement, part_bytes_max()));
}

inline std::span<const float> floats(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const float*>(bytes.data()), bytes.size() / sizeof(float)};
}
inline std::span<float> floats(std::span<std::byte> bytes) {
  return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};
}
/// The elements of one segment in an arena.
inline std::span<const float> floats(const Segment& segment, std::span<const std::byte> arena) {
  return floats(arena.subspan(segment.offset, segment.bytes));
}

/// An arena in which every element of every segment is `value`, and the padding is 0.
inline Ref<Buffer> filled(const ShardSpec& spec, float value, BufferPool& pool) {
  Ref<Buffer> arena = pool.get(spec.arena_bytes);
  std::memset(arena->data(), 0, arena->size());
  for (const Segment& segment : spec.segments) {
    for (float& element : floats(arena->bytes().subspan(segment.offset, segment.bytes))) element = value;
  }
  return arena;
}

/// Checks that `result` is an error of this kind whose sentence contains `part`.
template <class T>
void expect_error(const Result<T>& result, ErrorKind kind, const std::string& part = "") {
  ASSERT_FALSE(result) << "expected an error with: " << part;
  EXPECT_EQ(result.error().kind(), kind) << result.error().message();
  EXPECT_THAT(result.error().message(), testing::HasSubstr(part));
}

}  // namespace shoal::cluster
