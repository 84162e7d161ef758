// SPDX-License-Identifier: Apache-2.0
#include "shoal/cluster/shard_plan.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "plans.h"

namespace shoal::cluster {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

/// Checks that the shards have each row of each variable exactly once.
void expect_each_row_once(const std::vector<VariableSpec>& variables, const ShardPlan& plan) {
  std::map<std::string, std::vector<std::pair<int64_t, int64_t>>> ranges;
  for (const ShardSpec& shard : plan.shards) {
    uint64_t end = 0;
    for (const Segment& segment : shard.segments) {
      EXPECT_EQ(segment.offset % 64, 0u) << segment.variable.name;
      EXPECT_GE(segment.offset, end) << segment.variable.name;
      end = segment.offset + segment.bytes;
      ranges[segment.variable.name].emplace_back(segment.row_begin, segment.row_end);
    }
    EXPECT_LE(end, shard.arena_bytes);
    EXPECT_EQ(shard.arena_bytes % 64, 0u);
    EXPECT_GE(shard.arena_bytes, 64u);
  }
  for (const VariableSpec& spec : variables) {
    auto& rows = ranges[spec.name];
    std::sort(rows.begin(), rows.end());
    int64_t next = 0;
    for (auto [begin, end] : rows) {
      EXPECT_EQ(begin, next) << spec.name;
      next = end;
    }
    EXPECT_EQ(next, spec.shape.rank() == 0 ? 1 : spec.shape[0]) << spec.name;
  }
}

std::vector<VariableSpec> random_variables(uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<VariableSpec> variables;
  const int count = 1 + int(random() % 30);
  for (int i = 0; i < count; ++i) {
    std::vector<int64_t> dims;
    for (uint32_t rank = random() % 4; rank > 0; --rank) dims.push_back(int64_t(random() % 40));
    variables.push_back(variable("v" + std::to_string(i), Shape(dims), random() % 2 ? momentum() : adam()));
  }
  return variables;
}

TEST(ShardPlan, BalancesBytes) {
  std::vector<VariableSpec> variables;
  for (int64_t i = 1; i <= 12; ++i) variables.push_back(variable("v" + std::to_string(i), {i, 16}));
  const ShardPlan plan = plan_of(variables, 3);
  // The shards share 78 rows of 64 bytes evenly.
  for (const ShardSpec& shard : plan.shards) EXPECT_EQ(shard.arena_bytes, 26u * 64);
}

TEST(ShardPlan, LargestVariablesGoFirst) {
  // In order of creation the large variable would lie on top of two small ones.
  const ShardPlan plan = plan_of({variable("a", {16}), variable("b", {16}), variable("big", {32})}, 2);
  ASSERT_EQ(plan.shards[0].segments.size(), 1u);
  EXPECT_EQ(plan.shards[0].segments[0].variable.name, "big");
  EXPECT_EQ(plan.shards[1].segments.size(), 2u);
}

TEST(ShardPlan, KeepsEveryRowExactlyOnce) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    const auto variables = random_variables(seed);
    for (int servers : {1, 2, 3, 7}) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", servers " + std::to_string(servers));
      const ShardPlan plan = plan_of(variables, servers);
      ASSERT_EQ(plan.shards.size(), size_t(servers));
      expect_each_row_once(variables, plan);
    }
  }
}

TEST(ShardPlan, SplitsAVariableOnlyAboveTwiceAnEvenShare) {
  // Three servers, 96 + 48 rows: an even share is 48 rows, so 96 are not above twice of it; 97 are.
  const auto pieces = [](int64_t rows) {
    const ShardPlan plan = plan_of({variable("large", {rows, 16}), variable("small", {48, 16})}, 3);
    int count = 0;
    for (const ShardSpec& shard : plan.shards) {
      for (const Segment& segment : shard.segments) count += segment.variable.name == "large";
    }
    return count;
  };
  EXPECT_EQ(pieces(96), 1);
  EXPECT_EQ(pieces(98), 3);
}

TEST(ShardPlan, NeverSplitsBelowOneRow) {
  const std::vector<VariableSpec> variables{variable("two_rows", {2, 4096}), variable("scalar", {})};
  const ShardPlan plan = plan_of(variables, 8);
  expect_each_row_once(variables, plan);
}

TEST(ShardPlan, IsAPureFunctionOfVariablesAndServers) {
  const auto variables = random_variables(5);
  const ShardPlan plan = plan_of(variables, 3);
  const ShardPlan again = plan_of(random_variables(5), 3);
  EXPECT_EQ(plan.shards, again.shards);
  EXPECT_EQ(plan.fingerprint(), again.fingerprint());
  EXPECT_NE(plan.fingerprint(), plan_of(variables, 4).fingerprint());
  auto other_rule = variables;
  other_rule[0].rule = sgd();
  EXPECT_NE(plan.fingerprint(), plan_of(other_rule, 3).fingerprint());
}

TEST(ShardPlan, PlacementOverridesBalance) {
  const std::vector<VariableSpec> variables{variable("a", {64, 64}), variable("b", {2}), variable("c", {2})};
  std::vector<std::string> asked;
  const ShardPlan plan = plan_of(variables, 3, [&](std::string_view name, const Shape& shape, int servers) {
    asked.push_back(std::string(name) + to_string(shape) + std::to_string(servers));
    return name == "b" ? 0 : 2;
  });
  EXPECT_THAT(asked, testing::ElementsAre("a[64, 64]3", "b[2]3", "c[2]3"));
  EXPECT_EQ(plan.shards[0].segments.size(), 1u);
  EXPECT_TRUE(plan.shards[1].segments.empty());
  EXPECT_EQ(plan.shards[2].segments.size(), 2u);
  expect_each_row_once(variables, plan);
}

TEST(ShardPlan, RefusesAPlacementBeyondTheServers) {
  for (int server : {-1, 2}) {
    const auto plan = plan_shards({variable("a", {2})}, 2, 1, [server](auto&&...) { return server; });
    expect_error(plan, ErrorKind::kInvalidArgument, "placement gave server " + std::to_string(server) + " for variable a");
  }
}

TEST(ShardPlan, RefusesWhatNoServerCanHold) {
  expect_error(plan_shards({variable("", {2})}, 1, 1), ErrorKind::kInvalidArgument, "without a name");
  expect_error(plan_shards({variable("a", {2}), variable("a", {3})}, 1, 1), ErrorKind::kInvalidArgument,
               "a is there twice");
  expect_error(plan_shards({variable(std::string(300, 'n'), {2})}, 1, 1), ErrorKind::kInvalidArgument, "at most 256 bytes");
  VariableSpec whole = variable("whole", {2});
  whole.dtype = DType::kInt64;
  expect_error(plan_shards({whole}, 1, 1), ErrorKind::kInvalidArgument, "whole is int64");
  expect_error(plan_shards({variable("wide", {2, 1 << 29})}, 1, 1), ErrorKind::kInvalidArgument,
               "variable wide has rows of 2147483648 bytes; one message carries at most 1073741824");
  const nn::UpdateRule lamb{.kind = nn::UpdateRule::Kind::kLamb, .constants = {0.9, 0.999, 1e-6, 0}};
  expect_error(plan_shards({variable("huge", {1 << 16, 1 << 13}, lamb)}, 3, 1), ErrorKind::kInvalidArgument,
               "its update rule needs it whole on one server");
  EXPECT_TRUE(plan_shards({variable("huge", {1 << 16, 1 << 13})}, 1, 1));
  EXPECT_TRUE(plan_shards({variable("wide", {2, 1 << 29})}, 1, 1, nullptr, kOnePart));
}

TEST(ShardPlan, LargeArenasAreCutIntoPartsBetweenSegments) {
  // 4 GiB of rows, and the variables that fit into the last part beside the rest of them.
  const std::vector<VariableSpec> variables{variable("huge", {(1 << 20) + 1, 1 << 10}), variable("bias", {100})};
  const ShardSpec spec = plan_of(variables, 1).shards[0];
  expect_each_row_once(variables, plan_of(variables, 1));
  const std::vector<ShardPart> parts = parts_of(spec);
  ASSERT_EQ(parts.size(), 5u);
  uint64_t end = 0;
  for (const ShardPart& part : parts) {
    EXPECT_EQ(part.begin, end);
    end += part.spec.arena_bytes;
    EXPECT_LE(part.spec.arena_bytes, kPartBytesMax);
    EXPECT_EQ(part.spec.segments.front().offset, 0u);
    EXPECT_EQ(parts_of(part.spec).size(), 1u);
    EXPECT_EQ(part.spec.scalar_count, spec.scalar_count);
  }
  EXPECT_EQ(end, spec.arena_bytes);
  EXPECT_EQ(parts.back().spec.segments.size(), 2u);
  EXPECT_EQ(parts.back().spec.segments[0].bytes, 4096u);  // The segment is one row.
  EXPECT_EQ(parts.back().spec.segments[1].offset, 4096u);
  EXPECT_EQ(value_or_raise(parse_shard_spec(to_json(spec))), spec);
}

TEST(ShardPlan, ALargeVariableIsAPartOfItsOwn) {
  const std::vector<VariableSpec> variables{
      variable("a", {10}),        variable("kernel", {64, 16}), variable("b", {10}),       variable("c", {10}),
      variable("wide", {64, 32}), variable("large", {64, 17}),  variable("almost", {1023})};
  const auto names = [&](uint64_t own_part_bytes) {
    const ShardSpec spec =
        value_or_raise(plan_shards(variables, 1, 1, nullptr, kPartBytesMax, own_part_bytes, 1000)).shards[0];
    EXPECT_EQ(value_or_raise(parse_shard_spec(to_json(spec))), spec);
    std::vector<std::string> found;
    uint64_t end = 0;
    for (const ShardPart& part : parts_of(spec)) {
      EXPECT_EQ(part.begin, end);
      end += part.spec.arena_bytes;
      EXPECT_EQ(parts_of(part.spec).size(), 1u);
      found.emplace_back();
      for (const Segment& segment : part.spec.segments) found.back() += segment.variable.name + " ";
    }
    EXPECT_EQ(end, spec.arena_bytes);
    return found;
  };
  EXPECT_EQ(names(kOnePart).size(), 1u);
  EXPECT_EQ(names(1).size(), variables.size());
  const std::vector<std::string> parts = names(4096);
  for (const std::string alone : {"kernel ", "wide ", "large "}) {
    EXPECT_EQ(std::ranges::count(parts, alone), 1) << alone;
  }
  EXPECT_LT(parts.size(), variables.size());
  EXPECT_NE(plan_shards(variables, 1, 1, nullptr, kPartBytesMax, 4096)->fingerprint(),
            plan_shards(variables, 1, 1, nullptr, kPartBytesMax, kOnePart)->fingerprint());
}

TEST(ShardPlan, PartsAreFewHoweverManyVariablesThereAre) {
  for (const uint64_t seed : {1, 2, 3, 4}) {
    std::mt19937_64 random(seed);
    std::vector<VariableSpec> variables;
    for (int i = 0; i < 300; ++i)
      variables.push_back(variable("v" + std::to_string(i), {int64_t(1 + random() % (1 << 10 * (1 + i % 2)))}));
    for (const int servers : {1, 3}) {
      const ShardPlan plan = value_or_raise(plan_shards(variables, servers, 1, nullptr, kPartBytesMax, 1));
      for (const ShardSpec& spec : plan.shards) {
        const std::vector<ShardPart> parts = parts_of(spec);
        EXPECT_GT(parts.size(), kOwnPartsMax / 2);
        EXPECT_LE(parts.size(), 2 * kOwnPartsMax + 1);
      }
    }
  }
}

TEST(ShardPlan, AShardWithoutVariablesIsOnePart) {
  const ShardPlan plan = plan_of({variable("a", {2})}, 2);
  for (const ShardSpec& spec : plan.shards) {
    ASSERT_EQ(parts_of(spec).size(), 1u);
    EXPECT_EQ(parts_of(spec)[0].spec, spec);
  }
}

TEST(ShardPlan, SplitsNoVariableThatItsRuleNeedsWhole) {
  const nn::UpdateRule lamb{.kind = nn::UpdateRule::Kind::kLamb, .constants = {0.9, 0.999, 1e-6, 0}};
  const auto pieces = [](const nn::UpdateRule& rule) {
    size_t count = 0;
    for (const ShardSpec& shard : plan_of({variable("large", {4096, 8}, rule), variable("small", {3})}, 3).shards) {
      for (const Segment& segment : shard.segments) count += segment.variable.name == "large";
    }
    return count;
  };
  EXPECT_GT(pieces(adam()), 1u);
  EXPECT_EQ(pieces(lamb), 1u);
}

TEST(ShardSpecJson, ComesBackAsItWas) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    for (const ShardSpec& spec : plan_of(random_variables(seed), 2).shards) {
      const auto back = parse_shard_spec(to_json(spec));
      ASSERT_TRUE(back) << back.error().message();
      EXPECT_EQ(*back, spec) << "seed " << seed;
    }
  }
}

TEST(ShardSpecJson, CarriesExtremeKeysAndConstants) {
  const VariableSpec odd = variable("odd \"name\"\n\xc3\xa9", {3}, momentum(0.1), uniform(-1.0 / 3, 5e-324), ~RandomKey(0));
  const ShardSpec spec = plan_of({odd}, 1).shards[0];
  EXPECT_EQ(*parse_shard_spec(to_json(spec)), spec);
}

TEST(ShardSpecJson, CarriesGradientScales) {
  nn::UpdateRule rule = adam();
  rule.gradient_scale_scalar = 0;
  const ShardSpec spec = plan_of({variable("a", {3}, rule)}, 1).shards[0];
  EXPECT_EQ(*parse_shard_spec(to_json(spec)), spec);
  EXPECT_EQ(to_json(plan_of({variable("a", {3}, adam())}, 1).shards[0]).find("gradient_scale"), std::string::npos)
      << "the text of rules without one stays what it was";
}

/// A server learns from the spec how the job's kernels treat denormal numbers.
TEST(ShardSpecJson, SaysWhetherDenormalsAreKept) {
  ShardSpec spec = plan_of({variable("a", {3})}, 1).shards[0];
  for (const Denormals denormals : {Denormals::kKept, Denormals::kZero}) {
    spec.denormals = denormals;
    EXPECT_EQ(value_or_raise(parse_shard_spec(to_json(spec))).denormals, denormals);
  }
}

TEST(ShardSpecJson, NamesOfAnyBytesDoNotBreakIt) {
  const ShardSpec spec = plan_of({variable("\xff\xfe", {3})}, 1).shards[0];
  EXPECT_TRUE(parse_shard_spec(to_json(spec)));
}

/// The JSON of a good spec of one variable [4, 16] with one thing changed.
template <class Change>
Result<ShardSpec> changed(Change&& change) {
  const ShardSpec spec = plan_of({variable("a", {4, 16}, momentum()), variable("b", {4}, sgd())}, 1).shards[0];
  Json json = Json::parse(to_json(spec));
  change(json);
  return parse_shard_spec(json.dump());
}

TEST(ShardSpecJson, RefusesHostileSpecs) {
  const auto refuses = [](const std::string& what, auto&& change) {
    SCOPED_TRACE(what);
    expect_error(changed(change), ErrorKind::kInvalidArgument, "shard spec");
  };
  ASSERT_TRUE(changed([](Json&) {}));
  refuses("overlap", [](Json& j) { j["segments"][1]["offset"] = 64; });
  refuses("unaligned", [](Json& j) { j["segments"][1]["offset"] = 260; });
  refuses("beyond the arena", [](Json& j) { j["segments"][1]["offset"] = j["arena_bytes"]; });
  refuses("offset near 2^64", [](Json& j) { j["segments"][1]["offset"] = 0xffffffffffffffc0u; });
  refuses("arena of 2^41", [](Json& j) { j["arena_bytes"] = uint64_t(1) << 41; });
  refuses("arena of 2^40, which its segments do not divide", [](Json& j) { j["arena_bytes"] = uint64_t(1) << 40; });
  refuses("parts of 2^31", [](Json& j) { j["part_bytes_max"] = uint64_t(1) << 31; });
  refuses("parts of 0", [](Json& j) { j["part_bytes_max"] = 0; });
  refuses("parts of 65 bytes", [](Json& j) { j["part_bytes_max"] = 65; });
  refuses("own parts of 0", [](Json& j) { j["own_part_bytes"] = 0; });
  refuses("parts smaller than a segment", [](Json& j) { j["part_bytes_max"] = 64; });
  refuses("arena of 0", [](Json& j) { j["arena_bytes"] = 0; });
  refuses("negative arena", [](Json& j) { j["arena_bytes"] = -64; });
  refuses("arena as text", [](Json& j) { j["arena_bytes"] = "512"; });
  refuses("arena as fraction", [](Json& j) { j["arena_bytes"] = 512.5; });
  refuses("rows swapped", [](Json& j) { j["segments"][0]["rows"] = {3, 1}; });
  refuses("rows beyond", [](Json& j) { j["segments"][0]["rows"] = {0, 5}; });
  refuses("negative rows", [](Json& j) { j["segments"][0]["rows"] = {-1, 4}; });
  refuses("bytes do not fit", [](Json& j) { j["segments"][0]["bytes"] = 252; });
  refuses("shape overflows", [](Json& j) { j["segments"][0]["shape"] = {int64_t(1) << 40, int64_t(1) << 40}; });
  refuses("bytes overflow to 0", [](Json& j) {
    j["segments"][0]["shape"] = {int64_t(1) << 62};
    j["segments"][0]["rows"] = {int64_t(0), int64_t(1) << 62};
    j["segments"][0]["bytes"] = 0;
  });
  refuses("lazy rows of no elements, as many as there are numbers", [](Json& j) {
    j["segments"][0]["shape"] = {int64_t(1) << 40, 0};
    j["segments"][0]["rows"] = {int64_t(0), int64_t(1) << 40};
    j["segments"][0]["bytes"] = 0;
    j["segments"][0]["lazy_rows"] = true;
  });
  refuses("negative dimension", [](Json& j) { j["segments"][0]["shape"] = {-4, 16}; });
  refuses("nine dimensions", [](Json& j) { j["segments"][0]["shape"] = {1, 1, 1, 1, 1, 1, 1, 4, 16}; });
  refuses("unknown dtype", [](Json& j) { j["segments"][0]["dtype"] = "float99"; });
  refuses("other dtype", [](Json& j) { j["segments"][0]["dtype"] = "int64"; });
  refuses("unknown rule", [](Json& j) { j["segments"][0]["rule"] = 99; });
  refuses("rule that wraps", [](Json& j) { j["segments"][0]["rule"] = 256 + 1; });
  refuses("unknown initializer", [](Json& j) { j["segments"][0]["initialiser"][0] = 9; });
  refuses("constants missing", [](Json& j) { j["segments"][0]["constants"] = {nullptr}; });
  refuses("momentum of 2", [](Json& j) { j["segments"][0]["constants"] = {2.0}; });
  refuses("learning rate that is not sent", [](Json& j) { j["segments"][0]["learning_rate_scalar"] = 1; });
  refuses("negative learning rate scalar", [](Json& j) { j["segments"][0]["learning_rate_scalar"] = -1; });
  refuses("gradient scale that is not sent", [](Json& j) { j["segments"][0]["gradient_scale_scalar"] = 1; });
  refuses("negative gradient scale scalar", [](Json& j) { j["segments"][0]["gradient_scale_scalar"] = -2; });
  refuses("part of a variable that its rule needs whole", [](Json& j) {
    j["segments"][1]["rule"] = 11;
    j["segments"][1]["constants"] = {0.9, 0.999, 1e-6, 0.0};
    j["segments"][1]["rows"] = {0, 3};
    j["segments"][1]["bytes"] = 12;
    j["slot_count"] = 2;
  });
  refuses("fewer slots than the rule keeps", [](Json& j) { j["slot_count"] = 0; });
  refuses("too many slots", [](Json& j) { j["slot_count"] = 9; });
  refuses("too many scalars", [](Json& j) { j["scalar_count"] = 5000; });
  refuses("no name", [](Json& j) { j["segments"][0]["name"] = ""; });
  refuses("long name", [](Json& j) { j["segments"][0]["name"] = std::string(257, 'n'); });
  refuses("segments is a number", [](Json& j) { j["segments"] = 3; });
  refuses("segment is a text", [](Json& j) { j["segments"] = {"a"}; });
  refuses("too many segments", [](Json& j) { j["segments"] = std::vector<int>(65537); });
  refuses("key missing", [](Json& j) { j["segments"][0].erase("key"); });
}

TEST(ShardSpecJson, RefusesWhatIsNoJson) {
  for (const char* text : {"", "{", "[]", "null", "{\"segments\":[]}", "\xff"}) {
    expect_error(parse_shard_spec(text), ErrorKind::kInvalidArgument, "shard spec");
  }
}

TEST(ShardSpecJson, RefusesRandomDamage) {
  const std::string good = to_json(plan_of(random_variables(3), 1).shards[0]);
  // No text may crash the parser or make it allocate without bound; most are refused.
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    std::mt19937 random(seed);
    std::string text = good;
    for (uint32_t i = random() % 4; i < 4; ++i) text[random() % text.size()] = char(random());
    const auto parsed = parse_shard_spec(text);
    if (parsed) {
      EXPECT_LE(parsed->arena_bytes, uint64_t(1) << 40) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace shoal::cluster
