// SPDX-License-Identifier: Apache-2.0
#include "shoal/nn/apply_update.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "shoal/base/random.h"

namespace shoal::nn {
namespace {

using Kind = UpdateRule::Kind;
using testing::HasSubstr;

const std::vector<UpdateRule>& all_rules() {
  static const std::vector<UpdateRule> rules{
      {.kind = Kind::kNone},
      {.kind = Kind::kSgd},
      {.kind = Kind::kMomentum, .constants = {0.9, 0}},
      {.kind = Kind::kMomentum, .constants = {0.9, 1}},
      {.kind = Kind::kAdagrad, .constants = {0.1, 1e-7}},
      {.kind = Kind::kAdagrad, .constants = {0.5, 0.25}},
      {.kind = Kind::kAdam, .constants = {0.9, 0.999, 1e-7}},
      {.kind = Kind::kAdam, .constants = {0.5, 0.9, 0.25}},
      {.kind = Kind::kAssign},
      {.kind = Kind::kAdd},
      {.kind = Kind::kMovingAverage, .constants = {0.99}},
      {.kind = Kind::kAdamW, .constants = {0.9, 0.999, 1e-7, 0.1}},
      {.kind = Kind::kRmsProp, .constants = {0.9, 0, 1e-7, 0}},
      {.kind = Kind::kRmsProp, .constants = {0.9, 0.5, 1e-3, 0}},
      {.kind = Kind::kRmsProp, .constants = {0.95, 0, 1e-2, 1}},
      {.kind = Kind::kRmsProp, .constants = {0.95, 0.5, 1e-2, 1}},
      {.kind = Kind::kFtrl, .constants = {0.1, 0, 0, 0, 0}},
      {.kind = Kind::kFtrl, .constants = {0.1, 0.5, 0.01, 0.02, 1}},
      {.kind = Kind::kLamb, .constants = {0.9, 0.999, 1e-6, 0.1}},
      {.kind = Kind::kLamb, .constants = {0.5, 0.9, 0.25, 0}},
  };
  return rules;
}

/// Everything that a rule reads and writes.
struct Variable {
  std::vector<float> value;
  std::vector<std::vector<float>> slots;

  Variable(const UpdateRule& rule, std::vector<float> start) : value(std::move(start)) {
    for (int s = 0; s < slot_count(rule); ++s) slots.emplace_back(value.size(), slot_start(rule, s));
  }
  /// Applies one update to elements [first, first + count), in place.
  void apply(const UpdateRule& rule, double rate, uint64_t update_count, size_t first, size_t count,
             const Contributions& contributions) {
    std::vector<float*> slot_pointers;
    for (auto& slot : slots) slot_pointers.push_back(slot.data() + first);
    std::vector<const float*> gradients;
    for (const float* gradient : contributions.gradients) gradients.push_back(gradient + first);
    apply_update(rule, rate, update_count, int64_t(count), value.data() + first, value.data() + first, slot_pointers,
                 {gradients, contributions.scales, contributions.factor});
  }
};

std::vector<float> normals(RandomKey key, size_t count) {
  std::vector<float> values(count);
  fill_normal(key, 0, values, 0, 1);
  return values;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

double adam_direction(double m, double v, double beta1, double beta2, double epsilon_hat, int t) {
  return std::sqrt(1 - std::pow(beta2, t)) / (1 - std::pow(beta1, t)) * m / (std::sqrt(v) + epsilon_hat);
}

/// The rules again, one element, in double precision, written from their papers.
struct DoubleOracle {
  double w, slot0, slot1 = 0, slot2 = 0;
  /// LAMB's step before it is scaled to the variable's norm.
  double lamb_direction(const UpdateRule& rule, int t, double g) {
    const auto& c = rule.constants;
    slot0 = c[0] * slot0 + (1 - c[0]) * g;
    slot1 = c[1] * slot1 + (1 - c[1]) * g * g;
    const double m = slot0 / (1 - std::pow(c[0], t)), v = slot1 / (1 - std::pow(c[1], t));
    return m / (std::sqrt(v) + c[2]) + c[3] * w;
  }
  void rmsprop(const UpdateRule& rule, double rate, double g) {
    const auto& c = rule.constants;
    double& mean = c[1] > 0 ? slot2 : slot1;
    slot0 = c[0] * slot0 + (1 - c[0]) * g * g;
    if (c[3] != 0) mean = c[0] * mean + (1 - c[0]) * g;
    double change = g / (std::sqrt(slot0 - (c[3] != 0 ? mean * mean : 0)) + c[2]);
    if (c[1] > 0) change = slot1 = c[1] * slot1 + change;
    w -= rate * change;
  }
  void ftrl(const UpdateRule& rule, double rate, double g) {
    const auto& c = rule.constants;
    const double before = slot0;
    slot0 += g * g;
    slot1 += g + 2 * c[3] * w - (std::sqrt(slot0) - std::sqrt(before)) / rate * w;
    const double quadratic = (std::sqrt(slot0) + c[4]) / rate + 2 * c[2];
    w = std::abs(slot1) <= c[1] ? 0 : ((slot1 > 0 ? c[1] : -c[1]) - slot1) / quadratic;
  }
  void step(const UpdateRule& rule, double rate, int t, double g) {
    const auto& c = rule.constants;
    switch (rule.kind) {
      case Kind::kNone: break;
      case Kind::kSgd: w -= rate * g; break;
      case Kind::kMomentum:
        slot0 = c[0] * slot0 + g;
        w -= c[1] != 0 ? rate * (g + c[0] * slot0) : rate * slot0;
        break;
      case Kind::kAdagrad:
        slot0 += g * g;
        w -= rate * g / (std::sqrt(slot0) + c[1]);
        break;
      case Kind::kAdam:
        slot0 = c[0] * slot0 + (1 - c[0]) * g;
        slot1 = c[1] * slot1 + (1 - c[1]) * g * g;
        w -= rate * adam_direction(slot0, slot1, c[0], c[1], c[2], t);
        break;
      case Kind::kAdamW:
        slot0 = c[0] * slot0 + (1 - c[0]) * g;
        slot1 = c[1] * slot1 + (1 - c[1]) * g * g;
        w = w - rate * c[3] * w - rate * adam_direction(slot0, slot1, c[0], c[1], c[2], t);
        break;
      case Kind::kRmsProp: rmsprop(rule, rate, g); break;
      case Kind::kFtrl: ftrl(rule, rate, g); break;
      case Kind::kLamb: FAIL() << "not element by element";
      case Kind::kAssign: w = g; break;
      case Kind::kAdd: w += g; break;
      case Kind::kMovingAverage: w = c[0] * w + (1 - c[0]) * g; break;
    }
  }
};

/// One step of all elements.
void step(std::vector<DoubleOracle>& oracle, const UpdateRule& rule, double rate, int t, const std::vector<float>& g) {
  if (rule.kind != Kind::kLamb) {
    for (size_t k = 0; k < oracle.size(); ++k) oracle[k].step(rule, rate, t, g[k]);
    return;
  }
  std::vector<double> direction;
  double w_squares = 0, r_squares = 0;
  for (size_t k = 0; k < oracle.size(); ++k) {
    direction.push_back(oracle[k].lamb_direction(rule, t, g[k]));
    w_squares += oracle[k].w * oracle[k].w;
    r_squares += direction[k] * direction[k];
  }
  const double ratio = std::sqrt(w_squares) / std::sqrt(r_squares);
  for (size_t k = 0; k < oracle.size(); ++k) oracle[k].w -= rate * ratio * direction[k];
}

TEST(UpdateRule, AgreesWithDoublePrecisionFormulas) {
  constexpr size_t kCount = 1003;
  constexpr int kSteps = 20;
  const double rate = 0.05;
  for (const UpdateRule& rule : all_rules()) {
    SCOPED_TRACE(testing::Message() << to_string(rule.kind) << " " << testing::PrintToString(rule.constants));
    Variable variable(rule, normals(1, kCount));
    std::vector<DoubleOracle> oracle;
    const bool accumulates = rule.kind == Kind::kAdagrad || rule.kind == Kind::kFtrl;
    for (const float w : variable.value) oracle.push_back({w, accumulates ? rule.constants[0] : 0.0});
    for (int t = 1; t <= kSteps; ++t) {
      const std::vector<float> gradient = normals(100 + uint64_t(t), kCount);
      const float* pointer = gradient.data();
      const float one = 1;
      variable.apply(rule, rate, uint64_t(t), 0, kCount, {{&pointer, 1}, {&one, 1}, 1});
      step(oracle, rule, rate, t, gradient);
    }
    for (size_t k = 0; k < kCount; ++k) {
      ASSERT_NEAR(variable.value[k], oracle[k].w, 2e-5) << k;
      const double tolerance = 2e-5 * (1 + std::abs(oracle[k].slot0));
      if (slot_count(rule) > 0) {
        ASSERT_NEAR(variable.slots[0][k], oracle[k].slot0, tolerance) << k;
      }
      // Ftrl's linear term is a sum of numbers as large as sqrt(s) / rate * w, about 100.
      const double tolerance1 = rule.kind == Kind::kFtrl ? 5e-5 : 1e-6;
      if (slot_count(rule) > 1) {
        ASSERT_NEAR(variable.slots[1][k], oracle[k].slot1, tolerance1) << k;
      }
      if (slot_count(rule) > 2) {
        ASSERT_NEAR(variable.slots[2][k], oracle[k].slot2, 1e-6) << k;
      }
    }
  }
}

TEST(UpdateRule, AdamVectorsHaveTheBitsOfScalars) {
  constexpr size_t kCount = 517;
  const UpdateRule rule{.kind = Kind::kAdam, .constants = {0.9, 0.999, 1e-7}};
  Variable variable(rule, normals(2, kCount));
  std::vector<float> w = variable.value, m(kCount), v(kCount);
  for (int t = 1; t <= 3; ++t) {
    const std::vector<float> g = normals(200 + uint64_t(t), kCount);
    const float* pointer = g.data();
    const float one = 1;
    variable.apply(rule, 0.01, uint64_t(t), 0, kCount, {{&pointer, 1}, {&one, 1}, 1});
    double beta1_power = 1, beta2_power = 1;
    for (int i = 0; i < t; ++i) beta1_power *= 0.9, beta2_power *= 0.999;
    const auto rate = float(0.01 * (std::sqrt(1 - beta2_power) / (1 - beta1_power)));
    for (size_t k = 0; k < kCount; ++k) {
      // volatile: one rounded operation at a time, whatever the compiler would like to do.
      volatile float first = 0.9f * m[k], first_add = float(1 - 0.9) * g[k];
      volatile float second = 0.999f * v[k], square = g[k] * g[k];
      volatile float second_add = float(1 - 0.999) * square;
      m[k] = first + first_add;
      v[k] = second + second_add;
      volatile float up = rate * m[k], root = std::sqrt(v[k]);
      volatile float down = root + 1e-7f;
      volatile float change = up / down;
      w[k] = w[k] - change;
    }
    ASSERT_TRUE(same_bits(variable.slots[0], m)) << "m, step " << t;
    ASSERT_TRUE(same_bits(variable.slots[1], v)) << "v, step " << t;
    ASSERT_TRUE(same_bits(variable.value, w)) << "w, step " << t;
  }
}

TEST(UpdateRule, AnySplitGivesTheSameBits) {
  constexpr size_t kCount = 5003;
  const std::vector<std::vector<float>> pushes{normals(11, kCount), normals(12, kCount), normals(13, kCount)};
  const std::vector<const float*> pointers{pushes[0].data(), pushes[1].data(), pushes[2].data()};
  const std::vector<float> scales{1.0f, 0.3f, 0.7f};
  for (const UpdateRule& rule : all_rules()) {
    if (needs_whole_variable(rule)) continue;
    for (const size_t contributors : {size_t(1), size_t(3)}) {
      SCOPED_TRACE(std::string(to_string(rule.kind)) + ", contributors: " + std::to_string(contributors));
      const Contributions contributions{
          {pointers.data(), contributors}, {scales.data(), contributors}, contributors == 1 ? 1.0f : 1.0f / 3};
      Variable whole(rule, normals(10, kCount));
      Variable parts = whole;
      for (uint64_t t = 1; t <= 2; ++t) {
        whole.apply(rule, 0.1, t, 0, kCount, contributions);
        RandomStream sizes(77 + t);
        for (size_t first = 0; first < kCount;) {
          const size_t count = std::min<size_t>(kCount - first, 1 + sizes.below(900));
          parts.apply(rule, 0.1, t, first, count, contributions);
          first += count;
        }
      }
      EXPECT_TRUE(same_bits(whole.value, parts.value));
      for (size_t s = 0; s < whole.slots.size(); ++s) EXPECT_TRUE(same_bits(whole.slots[s], parts.slots[s])) << s;
    }
  }
}

TEST(UpdateRule, InPlaceAndIntoANewBufferAreEqual) {
  constexpr size_t kCount = 300;
  const std::vector<float> gradient = normals(21, kCount);
  const float* pointer = gradient.data();
  const float one = 1;
  for (const UpdateRule& rule : all_rules()) {
    SCOPED_TRACE(to_string(rule.kind));
    Variable in_place(rule, normals(20, kCount));
    const std::vector<float> current = in_place.value;
    std::vector<std::vector<float>> slots = in_place.slots;
    std::vector<float*> slot_pointers;
    for (auto& slot : slots) slot_pointers.push_back(slot.data());
    std::vector<float> next(kCount, -1);
    in_place.apply(rule, 0.1, 1, 0, kCount, {{&pointer, 1}, {&one, 1}, 1});
    apply_update(rule, 0.1, 1, kCount, current.data(), next.data(), slot_pointers, {{&pointer, 1}, {&one, 1}, 1});
    EXPECT_TRUE(same_bits(in_place.value, next));
    EXPECT_TRUE(same_bits(current, normals(20, kCount))) << "the current version was written";
  }
}

TEST(UpdateRule, OneContributorIsItsGradientBitForBit) {
  const std::vector<float> pushed{-0.0f, 1e-42f, std::numeric_limits<float>::infinity(), 0.1f, -3.5f};
  Variable variable({.kind = Kind::kAssign}, std::vector<float>(5, 7.0f));
  const float* pointer = pushed.data();
  const float one = 1;
  variable.apply({.kind = Kind::kAssign}, 0, 1, 0, 5, {{&pointer, 1}, {&one, 1}, 1});
  EXPECT_TRUE(same_bits(variable.value, pushed));
}

/// Wherever it lies (in what vectors take, in what is left over), of one contributor or several, whole or in two pieces.
TEST(UpdateRule, SaysWhetherAllThatItWroteIsFinite) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr size_t kCount = 2100;  // More than are folded at a time.
  const std::vector<float> sound = normals(21, kCount), start = normals(20, kCount);
  const auto apply = [&](const UpdateRule& rule, std::vector<const float*> gradients) {
    Variable variable(rule, start);
    std::vector<float*> slots;
    for (auto& slot : variable.slots) slots.push_back(slot.data());
    const std::vector<float> scales(gradients.size(), 1.0f);
    return apply_update(rule, 0.1, 1, kCount, variable.value.data(), variable.value.data(), slots,
                        {gradients, scales, gradients.size() > 1 ? 0.5f : 1.0f});
  };
  for (const UpdateRule& rule : all_rules()) {
    SCOPED_TRACE(to_string(rule.kind));
    EXPECT_TRUE(apply(rule, {sound.data()}));
    EXPECT_TRUE(apply(rule, {sound.data(), start.data()}));
    if (rule.kind == Kind::kNone) continue;
    for (const size_t at : {size_t(0), size_t(1001), kCount - 1}) {
      for (const float bad : {kNan, kInfinity, -kInfinity}) {
        std::vector<float> gradient = sound;
        gradient[at] = bad;
        EXPECT_FALSE(apply(rule, {gradient.data()})) << bad << " at " << at;
        EXPECT_FALSE(apply(rule, {sound.data(), gradient.data()})) << bad << " at " << at;
      }
    }
  }
}

/// The square of such a gradient is infinite, and the step that is divided by its root is 0: only the slot shows it.
TEST(UpdateRule, LooksAtSlotsToo) {
  const std::vector<float> gradient(33, 1e30f), zero(33, 0.0f);
  const float* pointer = gradient.data();
  const float one = 1;
  for (const UpdateRule& rule : all_rules()) {
    if (rule.kind != Kind::kAdam && rule.kind != Kind::kAdagrad) continue;
    SCOPED_TRACE(to_string(rule.kind));
    Variable variable(rule, zero);
    std::vector<float*> slots;
    for (auto& slot : variable.slots) slots.push_back(slot.data());
    EXPECT_FALSE(apply_update(rule, 0.1, 1, 33, zero.data(), variable.value.data(), slots, {{&pointer, 1}, {&one, 1}, 1}));
    EXPECT_TRUE(std::ranges::all_of(variable.value, [](float value) { return std::isfinite(value); }));
  }
}

TEST(UpdateRule, ContributorsAreFoldedFromTheLeft) {
  // Chosen so that another order gives another result: 1e8 + 1 == 1e8 in float32.
  const std::vector<std::vector<float>> pushes{{1e8f, 2}, {1, 4}, {-1e8f, 6}};
  const std::vector<const float*> pointers{pushes[0].data(), pushes[1].data(), pushes[2].data()};
  const std::vector<float> scales{1, 1, 1};
  Variable variable({.kind = Kind::kAssign}, {0, 0});
  variable.apply({.kind = Kind::kAssign}, 0, 1, 0, 2, {pointers, scales, 0.5f});
  EXPECT_EQ(variable.value, (std::vector<float>{0, 6}));

  const std::vector<float> weighted{0.5f, 2, 0.25f};
  variable.apply({.kind = Kind::kAdd}, 0, 2, 1, 1, {pointers, weighted, 1});
  EXPECT_EQ(variable.value[1], 6 + (0.5f * 2 + 2 * 4 + 0.25f * 6));
}

TEST(UpdateRule, AdamsFirstStepIsTheRateWhateverTheGradientsSize) {
  const UpdateRule rule{.kind = Kind::kAdam, .constants = {0.9, 0.999, 1e-10}};
  const std::vector<float> gradient{1e-3f, -4.0f, 500.0f};
  const float* pointer = gradient.data();
  const float one = 1;
  Variable variable(rule, {0, 0, 0});
  variable.apply(rule, 0.25, 1, 0, 3, {{&pointer, 1}, {&one, 1}, 1});
  EXPECT_NEAR(variable.value[0], -0.25, 1e-5);
  EXPECT_NEAR(variable.value[1], 0.25, 1e-5);
  EXPECT_NEAR(variable.value[2], -0.25, 1e-5);
}

TEST(UpdateRule, AdamStaysFiniteAfterManyUpdates) {
  const UpdateRule rule{.kind = Kind::kAdam, .constants = {0.9, 0.999, 1e-7}};
  Variable variable(rule, {1});
  const float gradient = 0.5f, one = 1;
  const float* pointer = &gradient;
  variable.apply(rule, 0.001, uint64_t(1) << 40, 0, 1, {{&pointer, 1}, {&one, 1}, 1});
  // Corrections are 1 by then: m = 0.05, v = 0.00025.
  EXPECT_NEAR(variable.value[0], 1 - 0.001 * 0.05 / std::sqrt(0.00025), 1e-6);
}

TEST(UpdateRule, LambTakesContributorsAndSplitsLikeOneGradient) {
  // Several blocks of the fold, and a last odd one; 2 g + 0 h is g doubled, exactly.
  constexpr size_t kCount = 5003;
  const UpdateRule rule{.kind = Kind::kLamb, .constants = {0.9, 0.999, 1e-6, 0.01}};
  EXPECT_TRUE(needs_whole_variable(rule));
  std::vector<float> doubled = normals(31, kCount);
  const std::vector<float> gradient = doubled, other = normals(32, kCount);
  for (float& g : doubled) g *= 2;
  Variable one(rule, normals(30, kCount));
  Variable two = one;
  const float* alone = doubled.data();
  const float* both[] = {gradient.data(), other.data()};
  const float unit = 1, scales[] = {2, 0};
  for (uint64_t t = 1; t <= 3; ++t) {
    one.apply(rule, 0.1, t, 0, kCount, {{&alone, 1}, {&unit, 1}, 1});
    two.apply(rule, 0.1, t, 0, kCount, {both, scales, 1});
  }
  EXPECT_TRUE(same_bits(one.value, two.value));
}

TEST(UpdateRule, LambMovesAVariableThatStartsAtZero) {
  const UpdateRule rule{.kind = Kind::kLamb, .constants = {0.9, 0.999, 1e-10, 0.01}};
  Variable variable(rule, {0, 0});
  const std::vector<float> gradient{3, -0.5f};
  const float* pointer = gradient.data();
  const float one = 1;
  variable.apply(rule, 0.25, 1, 0, 2, {{&pointer, 1}, {&one, 1}, 1});
  EXPECT_NEAR(variable.value[0], -0.25, 1e-6);
  EXPECT_NEAR(variable.value[1], 0.25, 1e-6);
}

TEST(UpdateRule, FtrlSetsWeightsThatMatterLittleToZero) {
  const UpdateRule rule{.kind = Kind::kFtrl, .constants = {0.1, 1.0, 0, 0, 0}};
  Variable variable(rule, {0, 0, 0});
  const std::vector<float> gradient{0.5f, -1.5f, std::numeric_limits<float>::quiet_NaN()};
  const float* pointer = gradient.data();
  const float one = 1;
  variable.apply(rule, 0.5, 1, 0, 3, {{&pointer, 1}, {&one, 1}, 1});
  EXPECT_EQ(variable.value[0], 0.0f);  // |z| = 0.5 <= l1
  EXPECT_NEAR(variable.value[1], 0.5 / (std::sqrt(0.1 + 2.25) / 0.5), 1e-6);
  EXPECT_TRUE(std::isnan(variable.value[2]));
}

TEST(UpdateRule, ARateOfZeroMovesNothing) {
  const std::vector<float> start = normals(41, 100), gradient = normals(42, 100);
  const float* pointer = gradient.data();
  const float one = 1;
  for (const UpdateRule& rule : all_rules()) {
    if (!uses_learning_rate(rule)) continue;
    Variable variable(rule, start);
    variable.apply(rule, 0, 1, 0, 100, {{&pointer, 1}, {&one, 1}, 1});
    EXPECT_EQ(variable.value, start) << to_string(rule.kind);
  }
}

TEST(UpdateRule, SlotsHaveNamesAndStarts) {
  const UpdateRule adagrad{.kind = Kind::kAdagrad, .constants = {0.1, 1e-7}};
  const UpdateRule adam{.kind = Kind::kAdam, .constants = {0.9, 0.999, 1e-7}};
  const UpdateRule momentum{.kind = Kind::kMomentum, .constants = {0.9, 0}};
  EXPECT_EQ(slot_count({.kind = Kind::kSgd}), 0);
  ASSERT_EQ(slot_count(momentum), 1);
  EXPECT_EQ(slot_name(momentum, 0), "momentum");
  EXPECT_EQ(slot_start(momentum, 0), 0.0f);
  ASSERT_EQ(slot_count(adagrad), 1);
  EXPECT_EQ(slot_name(adagrad, 0), "accumulator");
  EXPECT_EQ(slot_start(adagrad, 0), 0.1f);
  ASSERT_EQ(slot_count(adam), 2);
  EXPECT_EQ(slot_name(adam, 0), "m");
  EXPECT_EQ(slot_name(adam, 1), "v");
  const auto names = [](const UpdateRule& rule) {
    std::vector<std::string> result;
    for (int s = 0; s < slot_count(rule); ++s) result.emplace_back(slot_name(rule, s));
    return result;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(names({.kind = Kind::kAdamW}), (Names{"m", "v"}));
  EXPECT_EQ(names({.kind = Kind::kLamb}), (Names{"m", "v"}));
  EXPECT_EQ(names({.kind = Kind::kFtrl}), (Names{"accumulator", "linear"}));
  EXPECT_EQ(slot_start({.kind = Kind::kFtrl, .constants = {0.1}}, 0), 0.1f);
  EXPECT_EQ(slot_start({.kind = Kind::kFtrl, .constants = {0.1}}, 1), 0.0f);
  EXPECT_EQ(names({.kind = Kind::kRmsProp}), Names{"mean_square"});
  EXPECT_EQ(names({.kind = Kind::kRmsProp, .constants = {0.9, 0.5, 1e-7, 0}}), (Names{"mean_square", "momentum"}));
  EXPECT_EQ(names({.kind = Kind::kRmsProp, .constants = {0.9, 0, 1e-7, 1}}), (Names{"mean_square", "mean_gradient"}));
  EXPECT_EQ(names({.kind = Kind::kRmsProp, .constants = {0.9, 0.5, 1e-7, 1}}),
            (Names{"mean_square", "momentum", "mean_gradient"}));
}

TEST(UpdateRule, ValidRulesPass) {
  for (const UpdateRule& rule : all_rules()) EXPECT_TRUE(validate(rule)) << to_string(rule.kind);
}

TEST(UpdateRule, RefusesWhatCannotBeApplied) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<std::pair<UpdateRule, std::string>> cases{
      {{.kind = Kind(42)}, "unknown kind 42"},
      {{.kind = Kind::kSgd, .learning_rate_scalar = -1}, "scalar number -1"},
      {{.kind = Kind::kMomentum, .constants = {1.0, 0}}, "momentum is 1.0"},
      {{.kind = Kind::kMomentum, .constants = {nan, 0}}, "momentum is nan"},
      {{.kind = Kind::kMomentum, .constants = {0.9, 0.5}}, "nesterov is 0.5"},
      {{.kind = Kind::kAdagrad, .constants = {-0.1, 1e-7}}, "initial accumulator is -0.1"},
      {{.kind = Kind::kAdagrad, .constants = {0.1, infinity}}, "epsilon is inf"},
      {{.kind = Kind::kAdagrad, .constants = {0, 0}}, "epsilon is 0"},
      {{.kind = Kind::kAdam, .constants = {-0.1, 0.999, 1e-7}}, "beta1 is -0.1"},
      {{.kind = Kind::kAdam, .constants = {0.9, 1, 1e-7}}, "beta2 is 1"},
      {{.kind = Kind::kAdam, .constants = {0.9, 0.999, 0}}, "epsilon is 0"},
      {{.kind = Kind::kMovingAverage, .constants = {1.5}}, "decay is 1.5"},
      {{.kind = Kind::kSgd, .gradient_scale_scalar = -2}, "gradient scale is scalar number -2"},
      {{.kind = Kind::kAdamW, .constants = {0.9, 0.999, 1e-7, -1}}, "weight decay is -1"},
      {{.kind = Kind::kLamb, .constants = {0.9, 0.999, 0, 0}}, "epsilon is 0"},
      {{.kind = Kind::kRmsProp, .constants = {1, 0, 1e-7, 0}}, "decay is 1"},
      {{.kind = Kind::kRmsProp, .constants = {0.9, 1, 1e-7, 0}}, "momentum is 1"},
      {{.kind = Kind::kRmsProp, .constants = {0.9, 0, 0, 0}}, "epsilon is 0"},
      {{.kind = Kind::kRmsProp, .constants = {0.9, 0, 1e-7, 2}}, "centered is 2"},
      {{.kind = Kind::kFtrl, .constants = {0, 0, 0, 0, 0}}, "initial accumulator is 0"},
      {{.kind = Kind::kFtrl, .constants = {0.1, -1, 0, 0, 0}}, "l1 is -1"},
      {{.kind = Kind::kFtrl, .constants = {0.1, 0, 0, nan, 0}}, "l2 shrinkage is nan"},
  };
  for (const auto& [rule, sentence] : cases) {
    const Result<void> result = validate(rule);
    ASSERT_FALSE(result) << sentence;
    EXPECT_EQ(result.error().kind(), ErrorKind::kInvalidArgument);
    EXPECT_THAT(result.error().message(), HasSubstr(sentence));
  }
}

}  // namespace
}  // namespace shoal::nn
