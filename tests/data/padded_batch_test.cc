// SPDX-License-Identifier: Apache-2.0
// padded_batch (CONTRACT DS-2): elements of different sizes in one batch.
#include <gmock/gmock.h>

#include "collecting.h"

namespace shoal::data {
namespace {

using testing::HasSubstr;

class PaddedBatch : public BothEnvironments {
 protected:
  /// Vectors: the number 1 once, 2 twice, 3 three times, ...
  static Dataset growing(int64_t count) {
    return Dataset::range(1, count + 1).map([](Element element) -> Result<Element> {
      const int64_t n = element.features.single().as<int64_t>()[0];
      return Element{Tensor::of<int64_t>(Shape{n}, std::vector<int64_t>(size_t(n), n)), {}};
    });
  }
  std::string refusal(const Dataset& dataset) {
    const Outcome outcome = drain(*open(dataset, env()));
    if (!outcome.error) return "none";
    EXPECT_EQ(outcome.error->kind(), ErrorKind::kInvalidArgument);
    return outcome.error->message();
  }
};
SHOAL_IN_BOTH_ENVIRONMENTS(PaddedBatch);

TEST_P(PaddedBatch, FillsUpToTheLongest) {
  EXPECT_EQ(collect(growing(5).padded_batch(2), env()),
            (Values{{{2, 2}, {1, 0, 2, 2}}, {{2, 4}, {3, 3, 3, 0, 4, 4, 4, 4}}, {{1, 5}, {5, 5, 5, 5, 5}}}));
  EXPECT_EQ(collect(growing(5).padded_batch(2, {.drop_remainder = true}), env()).size(), 2u);
  EXPECT_EQ(growing(5).padded_batch(2).cardinality(), 3);
}

TEST_P(PaddedBatch, FillsUpToAGivenSizeOrAMultiple) {
  EXPECT_EQ(collect(growing(2).padded_batch(2, {.sizes = {{"features", {3}}}}), env()),
            (Values{{{2, 3}, {1, 0, 0, 2, 2, 0}}}));
  const Values lengths = collect(growing(6).padded_batch(1, {.sizes = {{"features", {-1}}}, .multiple_of = 3}), env());
  ASSERT_EQ(lengths.size(), 6u);
  for (int64_t i = 0; i < 6; ++i) EXPECT_EQ(lengths[size_t(i)].shape[1], i < 3 ? 3 : 6);
  // Sizes that are not named are not rounded.
  EXPECT_EQ(collect(growing(2).padded_batch(2, {.multiple_of = 3}), env())[0].shape[1], 3);  // Without sizes too.
}

TEST_P(PaddedBatch, FillsEachAxisOfEachTensor) {
  std::vector<Element> elements;
  elements.push_back(
      {{{"m", Tensor::of<float>({1, 2}, {1, 2})}, {"t", Tensor::of_strings({1}, {"a"})}}, Tensor::scalar<int64_t>(7)});
  elements.push_back(
      {{{"m", Tensor::of<float>({2, 1}, {3, 4})}, {"t", Tensor::of_strings({2}, {"b", "c"})}}, Tensor::scalar<int64_t>(8)});
  elements.push_back(
      {{{"m", Tensor::of<float>({0, 3}, {})}, {"t", Tensor::of_strings({0}, {})}}, Tensor::scalar<int64_t>(9)});
  const Dataset dataset = Dataset::range(3).map([elements](Element element) -> Result<Element> {
    return elements[size_t(element.features.single().as<int64_t>()[0])];
  });
  const auto iterator =
      open(dataset.padded_batch(
               3, {.values = {{"features/m", Tensor::scalar<float>(-1)}, {"features/t", Tensor::of_strings({}, {"."})}}}),
           env());
  Batch batch;
  ASSERT_TRUE(value_or_raise(iterator->next(batch)));
  EXPECT_EQ(value_of(*batch.features.find("m")),
            Value({3, 2, 3}, {1, 2, -1, -1, -1, -1, 3, -1, -1, 4, -1, -1, -1, -1, -1, -1, -1, -1}));
  EXPECT_EQ(batch.features.find("t")->shape(), (Shape{3, 2}));
  EXPECT_EQ(batch.features.find("t")->strings(), (std::vector<std::string>{"a", ".", "b", "c", ".", "."}));
  EXPECT_EQ(value_of(batch.labels.single()), Value({3}, {7, 8, 9}));
}

TEST_P(PaddedBatch, GoesOnWhereItWas) {
  const Dataset dataset = growing(7).padded_batch(2);
  const auto whole = open(dataset, env());
  Batch batch;
  ASSERT_TRUE(value_or_raise(whole->next(batch)));
  const Position position = value_or_raise(whole->save());
  const Values rest = drain(*whole).values;
  const auto resumed = open(dataset, env());
  value_or_raise(resumed->restore(position));
  EXPECT_EQ(drain(*resumed).values, rest);
  EXPECT_EQ(value_or_raise(open(dataset, env())->skip(9)), 4);
  // Another padding is another pipeline.
  EXPECT_FALSE(open(growing(7).padded_batch(2, {.multiple_of = 2}), env())->restore(position));
}

TEST_P(PaddedBatch, SaysWhatDoesNotFit) {
  EXPECT_THAT(refusal(growing(4).padded_batch(4, {.sizes = {{"features", {3}}}})),
              HasSubstr("padded_batch: features has 4 values along axis 0, more than its size of 3"));
  EXPECT_THAT(refusal(growing(2).padded_batch(2, {.sizes = {{"features/x", {3}}}})),
              HasSubstr("padded_batch: there is no features/x, but: features"));
  EXPECT_THAT(refusal(growing(2).padded_batch(2, {.sizes = {{"features", {3, 3}}}})),
              HasSubstr("there are 2 sizes for it"));
  EXPECT_THAT(refusal(growing(2).padded_batch(2, {.values = {{"features", Tensor::scalar<float>(0)}}})),
              HasSubstr("features is int64, and the value for it float32"));
  const Dataset ranks = Dataset::range(2).map([](Element element) -> Result<Element> {
    const int64_t n = element.features.single().as<int64_t>()[0];
    return Element{Tensor::zeros(DType::kFloat32, n == 0 ? Shape{2} : Shape{2, 2}), {}};
  });
  EXPECT_THAT(refusal(ranks.padded_batch(2)), HasSubstr("of float32 [2, 2], element 0 of float32 [2]"));
}

TEST(PaddedBatchOptions, ThatCannotBeAreRaised) {
  const Dataset ten = Dataset::range(10);
  const auto sentence = [](const std::function<void()>& call) {
    const std::optional<Error> error = raised(call);
    return error ? error->message() : "none";
  };
  EXPECT_THAT(sentence([&] { ten.padded_batch(0); }), HasSubstr("padded_batch: size is 0"));
  EXPECT_THAT(sentence([&] { ten.padded_batch(1, {.multiple_of = 0}); }), HasSubstr("multiple_of is 0"));
  EXPECT_THAT(sentence([&] { ten.padded_batch(1, {.sizes = {{"features", {-2}}}}); }), HasSubstr("below -1"));
  EXPECT_THAT(sentence([&] {
                ten.padded_batch(1, {.values = {{"features", Tensor::zeros(DType::kInt64, {1})}}});
              }),
              HasSubstr("give a scalar"));
}

}  // namespace
}  // namespace shoal::data
