// SPDX-License-Identifier: Apache-2.0
#include "state/codec.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "plans.h"
#include "shoal/base/half.h"

namespace shoal::cluster {
namespace {

using testing::Each;
using transport::Encoding;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

class Codec : public testing::Test {
 protected:
  std::shared_ptr<BufferPool> pool_ = BufferPool::create();
  // Segments of 1, 3, 700 (three blocks) and 0 floats, with gaps between them.
  const ShardSpec spec_ =
      plan_of({variable("one", {}), variable("few", {3}), variable("many", {70, 10}), variable("none", {0})}, 1).shards[0];

  const Segment& segment(const std::string& name) const {
    return *std::find_if(spec_.segments.begin(), spec_.segments.end(),
                         [&](const Segment& s) { return s.variable.name == name; });
  }
  std::span<float> of(const std::string& name, Buffer& arena) {
    return floats(arena.bytes().subspan(segment(name).offset, segment(name).bytes));
  }
  Ref<Buffer> random_arena(uint64_t seed) {
    Ref<Buffer> arena = filled(spec_, 0, *pool_);
    for (const Segment& one : spec_.segments) {
      std::vector<float> values(size_t(one.elements()));
      fill_normal(RandomKey{seed + one.offset}, 0, values, 0, 1);
      std::ranges::copy(values, floats(arena->bytes().subspan(one.offset, one.bytes)).begin());
    }
    return arena;
  }
  Ref<Buffer> encoded(const Buffer& arena, Encoding encoding) {
    Ref<Buffer> payload = pool_->get(encoded_bytes(spec_, encoding));
    encode(spec_, encoding, arena.bytes(), payload->bytes());
    return payload;
  }
  Ref<Buffer> decoded(const Buffer& payload, Encoding encoding) {
    Ref<Buffer> arena = pool_->get(spec_.arena_bytes);
    std::memset(arena->data(), 0x7f, arena->size());
    const Result<void> done = decode(spec_, encoding, payload.bytes(), arena->bytes());
    EXPECT_TRUE(done) << done.error().message();
    return arena;
  }
  Result<void> refused(Encoding encoding, std::span<const std::byte> payload) {
    Ref<Buffer> arena = pool_->get(spec_.arena_bytes);
    return decode(spec_, encoding, payload, arena->bytes());
  }
};

TEST_F(Codec, SizesAreWhatTheyPromise) {
  const uint64_t elements = spec_.arena_bytes / sizeof(float);
  EXPECT_EQ(encoded_bytes(spec_, Encoding::kDense), spec_.arena_bytes);
  EXPECT_EQ(encoded_bytes(spec_, Encoding::kBfloat16), spec_.arena_bytes / 2);
  EXPECT_EQ(encoded_bytes(spec_, Encoding::kFloat16), spec_.arena_bytes / 2);
  EXPECT_EQ(encoded_bytes(spec_, Encoding::kInt8), 64 + elements);           // Five scales.
  EXPECT_EQ(encoded_bytes(spec_, Encoding::kTopK, 0.01), 64 + 64 + 9u * 4);  // Picks 1 of 1, 1 of 3, 7 of 700.
  // All values are sent: their places would cost as much as is saved.
  EXPECT_EQ(encoded_bytes(spec_, Encoding::kTopK, 0.5), 64 + 2816 + 704u * 4);
}

TEST_F(Codec, HalvesAreThoseOfTheirFormats) {
  const Ref<Buffer> arena = random_arena(1);
  const Ref<Buffer> brain = decoded(*encoded(*arena, Encoding::kBfloat16), Encoding::kBfloat16);
  const Ref<Buffer> half = decoded(*encoded(*arena, Encoding::kFloat16), Encoding::kFloat16);
  for (size_t i = 0; i < floats(arena->bytes()).size(); ++i) {
    const float x = floats(arena->bytes())[i];
    ASSERT_EQ(floats(brain->bytes())[i], from_bfloat16(to_bfloat16(x)));
    ASSERT_EQ(floats(half->bytes())[i], from_float16(to_float16(x)));
  }
}

TEST_F(Codec, Int8IsWithinHalfAUnitOfItsBlock) {
  const Ref<Buffer> arena = random_arena(2);
  of("many", *arena)[300] = 1000;  // The value lies in the second block only.
  of("one", *arena)[0] = -3e-30f;
  const Ref<Buffer> back = decoded(*encoded(*arena, Encoding::kInt8), Encoding::kInt8);
  EXPECT_FLOAT_EQ(of("many", *back)[300], 1000);
  EXPECT_FLOAT_EQ(of("one", *back)[0], -3e-30f);
  for (size_t i = 0; i < 700; ++i) {
    const float unit = (i / 256 == 1 ? 1000.0f : 5.0f) / 127;
    ASSERT_NEAR(of("many", *back)[i], of("many", *arena)[i], unit * 0.5001f) << i;
  }
  const auto last_block = of("many", *arena).subspan(512);
  const float largest = std::abs(*std::ranges::max_element(last_block, {}, [](float x) { return std::abs(x); }));
  for (size_t i = 0; i < last_block.size(); ++i) {
    ASSERT_NEAR(of("many", *back)[512 + i], last_block[i], largest / 127 * 0.5001f) << i;
  }
}

TEST_F(Codec, Int8KeepsZerosAndTellsWhatIsNotFinite) {
  Ref<Buffer> arena = filled(spec_, 0, *pool_);
  of("few", *arena)[1] = 1e-42f;  // The value is too small for a scale.
  of("many", *arena)[5] = kInfinity;
  of("many", *arena)[600] = std::nanf("");
  const Ref<Buffer> back = decoded(*encoded(*arena, Encoding::kInt8), Encoding::kInt8);
  EXPECT_THAT(of("few", *back), Each(0.0f));
  EXPECT_TRUE(std::isnan(of("many", *back)[5]));
  EXPECT_TRUE(std::isnan(of("many", *back)[600]));
  EXPECT_EQ(of("many", *back)[300], 0.0f);
}

TEST_F(Codec, WhatLiesBetweenSegmentsDoesNotTravel) {
  Ref<Buffer> arena = filled(spec_, 1, *pool_);
  floats(arena->bytes())[segment("few").offset / sizeof(float) + 3] = 77;
  const Ref<Buffer> back = decoded(*encoded(*arena, Encoding::kInt8), Encoding::kInt8);
  EXPECT_EQ(floats(back->bytes())[segment("few").offset / sizeof(float) + 3], 0.0f);
}

// --- kTopK
// --------------------------------------------------------------------------------------------------------------------

class TopKTest : public Codec {
 protected:
  Ref<Buffer> sent(TopK& top_k, const Buffer& gradient, double fraction) {
    Ref<Buffer> payload = pool_->get(encoded_bytes(spec_, Encoding::kTopK, fraction));
    top_k.encode(gradient.bytes(), payload->bytes());
    return decoded(*payload, Encoding::kTopK);
  }
};

TEST_F(TopKTest, SendsTheLargestOfEachSegment) {
  TopK top_k(spec_, 0.01, *pool_);
  Ref<Buffer> gradient = random_arena(3);
  std::vector<float> sorted(of("many", *gradient).begin(), of("many", *gradient).end());
  std::ranges::sort(sorted, std::greater<>(), [](float x) { return std::abs(x); });
  const Ref<Buffer> back = sent(top_k, *gradient, 0.01);
  for (size_t i = 0; i < 700; ++i) {
    const float x = of("many", *gradient)[i];
    const bool among = std::abs(x) >= std::abs(sorted[6]);
    ASSERT_EQ(of("many", *back)[i], among ? x : 0.0f) << i;
    ASSERT_EQ(top_k.residual()[segment("many").offset / sizeof(float) + i], among ? 0.0f : x) << i;
  }
  EXPECT_EQ(of("one", *back)[0], of("one", *gradient)[0]);
}

/// A value that replaces a variable, or is averaged into it, is of no use in parts.
TEST_F(TopKTest, SendsWholeWhatIsNoGradient) {
  const nn::UpdateRule assign{.kind = nn::UpdateRule::Kind::kAssign};
  const nn::UpdateRule average{.kind = nn::UpdateRule::Kind::kMovingAverage, .constants = {0.9}};
  const ShardSpec spec =
      plan_of({variable("slot", {500}, assign), variable("mean", {300}, average), variable("w", {700})}, 1).shards[0];
  TopK top_k(spec, 0.01, *pool_);
  for (const float value : {1.0f, 2.0f}) {
    const Ref<Buffer> gradient = filled(spec, value, *pool_);
    Ref<Buffer> payload = pool_->get(encoded_bytes(spec, Encoding::kTopK, 0.01));
    top_k.encode(gradient->bytes(), payload->bytes());
    Ref<Buffer> arena = pool_->get(spec.arena_bytes);
    ASSERT_TRUE(decode(spec, Encoding::kTopK, payload->bytes(), arena->bytes()));
    for (const Segment& one : spec.segments) {
      const auto sent = floats(one, arena->bytes());
      const auto count = [&sent](auto wanted) { return int64_t(std::ranges::count_if(sent, wanted)); };
      if (one.variable.name == "w") {
        EXPECT_EQ(count([](float x) { return x != 0; }), 7);
      } else {
        EXPECT_EQ(count([value](float x) { return x == value; }), one.elements()) << one.variable.name;
      }
    }
  }
}

/// A push that a server dropped is taken back, and the next one brings what it would have added; but an assignment is
/// not made up for.
TEST_F(TopKTest, OwesNoAssignment) {
  const nn::UpdateRule assign{.kind = nn::UpdateRule::Kind::kAssign};
  const ShardSpec spec = plan_of({variable("slot", {500}, assign), variable("w", {700})}, 1).shards[0];
  TopK top_k(spec, 1, *pool_);
  Ref<Buffer> payload = pool_->get(encoded_bytes(spec, Encoding::kTopK, 1));
  for (const float value : {1.0f, 2.0f}) {
    top_k.encode(filled(spec, value, *pool_)->bytes(), payload->bytes());
    if (value == 1) top_k.take_back(payload->bytes());
  }
  Ref<Buffer> arena = pool_->get(spec.arena_bytes);
  ASSERT_TRUE(decode(spec, Encoding::kTopK, payload->bytes(), arena->bytes()));
  for (const Segment& one : spec.segments) {
    EXPECT_THAT(floats(one, arena->bytes()), testing::Each(one.variable.name == "slot" ? 2.0f : 3.0f)) << one.variable.name;
  }
}

TEST_F(TopKTest, OfEqualOnesTheFirstCount) {
  TopK top_k(spec_, 0.01, *pool_);
  const Ref<Buffer> back = sent(top_k, *filled(spec_, -2, *pool_), 0.01);
  const auto many = of("many", *back);
  EXPECT_THAT(many.first(7), Each(-2.0f));
  EXPECT_THAT(many.subspan(7), Each(0.0f));
}

TEST_F(TopKTest, WhatWasNotSentIsNotLost) {
  constexpr double kFraction = 0.02;
  constexpr int kSteps = 200;
  TopK top_k(spec_, kFraction, *pool_);
  const size_t elements = spec_.arena_bytes / sizeof(float);
  std::vector<double> given(elements), received(elements);
  for (int step = 0; step < kSteps; ++step) {
    const Ref<Buffer> gradient = random_arena(uint64_t(1000 + step));
    const Ref<Buffer> back = sent(top_k, *gradient, kFraction);
    for (size_t i = 0; i < elements; ++i) {
      given[i] += double(floats(gradient->bytes())[i]);
      received[i] += double(floats(back->bytes())[i]);
    }
  }
  for (size_t i = 0; i < elements; ++i) ASSERT_NEAR(given[i] - received[i], double(top_k.residual()[i]), 1e-4) << i;
  top_k.clear();
  EXPECT_THAT(top_k.residual(), Each(0.0f));
}

TEST_F(TopKTest, WhatIsNotFiniteIsSent) {
  TopK top_k(spec_, 0.01, *pool_);
  Ref<Buffer> gradient = random_arena(4);
  of("many", *gradient)[123] = std::nanf("");
  of("many", *gradient)[456] = -kInfinity;
  const Ref<Buffer> back = sent(top_k, *gradient, 0.01);
  EXPECT_TRUE(std::isnan(of("many", *back)[123]));
  EXPECT_EQ(of("many", *back)[456], -kInfinity);
}

// --- What peers may send
// ------------------------------------------------------------------------------------------------------

TEST_F(TopKTest, WhatWasKeptBeforeIsThereToo) {
  TopK top_k(spec_, 0.02, *pool_);
  sent(top_k, *random_arena(4), 0.02);
  const Ref<Buffer> held = top_k.kept();
  const std::vector<float> first(top_k.residual().begin(), top_k.residual().end());
  sent(top_k, *random_arena(5), 0.02);
  EXPECT_THAT(floats(top_k.kept_before()->bytes()), testing::ElementsAreArray(first));
  for (uint64_t seed = 6; seed < 9; ++seed) sent(top_k, *random_arena(seed), 0.02);
  // A residual stays unchanged while somebody holds it.
  EXPECT_THAT(floats(held->bytes()), testing::ElementsAreArray(first));
}

TEST_F(TopKTest, AnotherGoesOnFromWhatWasKept) {
  TopK one(spec_, 0.02, *pool_), other(spec_, 0.02, *pool_);
  sent(one, *random_arena(4), 0.02);
  sent(other, *random_arena(5), 0.02);
  other.resume(one.kept()->bytes());
  const Ref<Buffer> gradient = random_arena(6);
  const Ref<Buffer> expected = sent(one, *gradient, 0.02), got = sent(other, *gradient, 0.02);
  EXPECT_THAT(floats(got->bytes()), testing::ElementsAreArray(floats(expected->bytes())));
  EXPECT_THAT(other.residual(), testing::ElementsAreArray(one.residual()));
}

TEST_F(TopKTest, WhatIsTakenBackIsKeptAsIfItHadNotBeenSent) {
  constexpr double kFraction = 0.02;
  TopK top_k(spec_, kFraction, *pool_);
  sent(top_k, *random_arena(4), kFraction);
  const std::vector<float> before(top_k.residual().begin(), top_k.residual().end());
  const Ref<Buffer> gradient = random_arena(5), payload = pool_->get(encoded_bytes(spec_, Encoding::kTopK, kFraction));
  top_k.encode(gradient->bytes(), payload->bytes());
  const Ref<Buffer> held = top_k.kept();  // Whoever sends the residual for a checkpoint holds it.
  const std::vector<float> after(top_k.residual().begin(), top_k.residual().end());
  top_k.take_back(payload->bytes());
  for (size_t i = 0; i < before.size(); ++i) ASSERT_EQ(top_k.residual()[i], before[i] + floats(gradient->bytes())[i]) << i;
  EXPECT_THAT(floats(held->bytes()), testing::ElementsAreArray(after));
  const Ref<Buffer> first = decoded(*payload, Encoding::kTopK), again = sent(top_k, *filled(spec_, 0, *pool_), kFraction);
  EXPECT_THAT(floats(again->bytes()), testing::ElementsAreArray(floats(first->bytes())));
  EXPECT_THAT(top_k.residual(), testing::ElementsAreArray(after));
}

TEST_F(TopKTest, GoingBackLeavesNothingOfTheLastGradient) {
  constexpr double kFraction = 0.02;
  TopK top_k(spec_, kFraction, *pool_);
  sent(top_k, *random_arena(4), kFraction);
  const std::vector<float> before(top_k.residual().begin(), top_k.residual().end());
  const Ref<Buffer> first = sent(top_k, *random_arena(5), kFraction);
  top_k.go_back();
  EXPECT_THAT(top_k.residual(), testing::ElementsAreArray(before));
  const Ref<Buffer> again = sent(top_k, *random_arena(5), kFraction);
  EXPECT_THAT(floats(again->bytes()), testing::ElementsAreArray(floats(first->bytes())));
}

TEST_F(Codec, RefusesPayloadsThatDoNotFit) {
  const Ref<Buffer> buffer = pool_->get(spec_.arena_bytes + 4096);
  std::memset(buffer->data(), 0, buffer->size());
  const auto payload = buffer->bytes();
  for (Encoding encoding : {Encoding::kBfloat16, Encoding::kFloat16, Encoding::kInt8, Encoding::kTopK}) {
    SCOPED_TRACE(int(encoding));
    for (size_t bytes :
         {size_t(0), size_t(1), size_t(63), size_t(encoded_bytes(spec_, encoding, 0.01)) - 1, payload.size()}) {
      expect_error(refused(encoding, payload.first(bytes)), ErrorKind::kInvalidArgument, std::to_string(bytes));
    }
  }
  expect_error(refused(Encoding::kDense, payload.first(spec_.arena_bytes)), ErrorKind::kInvalidArgument);
  expect_error(refused(Encoding::kSparseRows, payload.first(spec_.arena_bytes)), ErrorKind::kInvalidArgument);
}

TEST_F(Codec, RefusesPlacesThatAreNone) {
  const uint32_t elements = uint32_t(spec_.arena_bytes / sizeof(float));
  const auto with_places = [&](uint64_t count, std::vector<uint32_t> places) {
    std::vector<std::byte> payload(64 + 64 + places.size() * sizeof(float));
    std::memcpy(payload.data(), &count, sizeof count);
    std::memcpy(payload.data() + 64, places.data(), places.size() * sizeof(uint32_t));
    return refused(Encoding::kTopK, payload);
  };
  EXPECT_TRUE(with_places(2, {0, elements - 1}));
  expect_error(with_places(2, {0, elements}), ErrorKind::kInvalidArgument, "places");
  expect_error(with_places(2, {5, 5}), ErrorKind::kInvalidArgument, "places");
  expect_error(with_places(2, {6, 5}), ErrorKind::kInvalidArgument, "places");
  expect_error(with_places(2, {1, 0xffffffff}), ErrorKind::kInvalidArgument, "places");
  expect_error(with_places(3, {1, 2}), ErrorKind::kInvalidArgument, "does not hold 3");
  expect_error(with_places(~uint64_t(0), {1, 2}), ErrorKind::kInvalidArgument, "does not hold");
}

}  // namespace
}  // namespace shoal::cluster
