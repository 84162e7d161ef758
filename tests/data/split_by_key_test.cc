// SPDX-License-Identifier: Apache-2.0
/// Dataset::split with a key: the side of an element depends on its key alone.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "collecting.h"
#include "shoal/base/random.h"

namespace shoal::data {
namespace {

using testing::HasSubstr;

Tensor of_texts(const std::vector<std::string>& texts) { return Tensor::of_strings({int64_t(texts.size())}, texts); }

Dataset people(const std::vector<std::string>& names) {
  std::vector<int64_t> numbers(names.size());
  return Dataset::from_tensor_slices(
      {{"name", of_texts(names)}, {"x", Tensor::of<int64_t>({int64_t(names.size())}, std::span<const int64_t>(numbers))}});
}

std::vector<std::string> numbered(int begin, int end) {
  std::vector<std::string> names;
  for (int i = begin; i < end; ++i) names.push_back("p" + std::to_string(i));
  return names;
}

class SplitByKey : public BothEnvironments {
 protected:
  std::vector<std::string> names(const Dataset& dataset, IterateOptions options = {}) {
    std::vector<std::string> found;
    const auto iterator = open(dataset, env(), options);
    for (Element element;;) {
      const auto more = iterator->next(element);
      if (!more) ADD_FAILURE() << more.error().message();
      if (!more || !*more) return found;
      found.push_back(element.features["name"].strings()[0]);
    }
  }
  std::string sentence(const Dataset& dataset) {
    const auto iterator = open(dataset, env());
    for (Element element;;) {
      const auto more = iterator->next(element);
      if (!more) return more.error().message();
      if (!*more) return "";
    }
  }
};
SHOAL_IN_BOTH_ENVIRONMENTS(SplitByKey);

/// The first two are of the specification of xxhash 0.8 (its own sanity check); the rest follows from the rule in dataset.h.
TEST_P(SplitByKey, IsDecidedByAPublishedHash) {
  EXPECT_EQ(hash64("", 0), 0x2d06800538d394c2u);
  EXPECT_EQ(hash64("", 0x9e3779b185ebca8du), 0xa8a6b918b2f0364au);
  EXPECT_EQ(hash64("abc", 0), hash64("abc"));
  // XXH3 of "a" begins with 0xe6c6, of "abc" with 0x78af: 0.9014 and 0.4714 of 2^64.
  EXPECT_THAT(names(people({"a", "abc"}).split(0.48, {.key = "name"}).held_out), testing::ElementsAre("abc"));
  EXPECT_THAT(names(people({"a", "abc"}).split(0.47, {.key = "name"}).held_out), testing::IsEmpty());
  EXPECT_THAT(names(people({"a", "abc"}).split(0.90, {.key = "name"}).training), testing::ElementsAre("a"));
  EXPECT_THAT(names(people({"a", "abc"}).split(0.91, {.key = "name"}).training), testing::IsEmpty());
}

TEST_P(SplitByKey, PutsTheRightShareOnEachSideInItsOrder) {
  const std::vector<std::string> all = numbered(0, 20000);
  for (const int64_t seed : {0, 1, -5}) {
    const Split split = people(all).split(0.1, {.seed = seed, .key = "name"});
    const std::vector<std::string> training = names(split.training), held_out = names(split.held_out);
    EXPECT_NEAR(double(held_out.size()), 2000, 5 * std::sqrt(20000 * 0.1 * 0.9));
    EXPECT_EQ(training.size() + held_out.size(), all.size());
    const std::set<std::string> out(held_out.begin(), held_out.end());
    std::vector<std::string> expected_training, expected_out;
    for (const std::string& name : all) (out.contains(name) ? expected_out : expected_training).push_back(name);
    EXPECT_EQ(training, expected_training);
    EXPECT_EQ(held_out, expected_out);
    EXPECT_NE(split.training.fingerprint(), split.held_out.fingerprint());
  }
  EXPECT_NE(names(people(all).split(0.1, {.seed = 1, .key = "name"}).held_out),
            names(people(all).split(0.1, {.seed = 2, .key = "name"}).held_out));
}

/// Rows that are put in, taken out or moved anywhere leave the others where they are.
TEST_P(SplitByKey, KeepsSidesWhileATableGrowsAndShrinks) {
  const std::vector<std::string> before = numbered(0, 500);
  std::vector<std::string> after = numbered(1000, 1100);  // New rows come first.
  for (int i = 0; i < 500; ++i) {
    if (i % 7 != 0) after.push_back("p" + std::to_string(i));
  }
  std::reverse(after.begin() + 50, after.end());
  const auto held_out = [&](const std::vector<std::string>& all) {
    return names(people(all).split(0.3, {.key = "name"}).held_out);
  };
  const std::vector<std::string> out_before = held_out(before), out_after = held_out(after);
  const std::set<std::string> is_out(out_before.begin(), out_before.end()), still_out(out_after.begin(), out_after.end());
  for (const std::string& name : after) {
    if (std::ranges::find(before, name) == before.end()) continue;
    EXPECT_EQ(is_out.contains(name), still_out.contains(name)) << name;
  }
  EXPECT_GT(out_before.size(), 100u);
}

/// Where positions move, a key does not; and whoever asks gets the same rows.
TEST_P(SplitByKey, StandsBehindShufflesAndRepeats) {
  const Dataset all = people(numbered(0, 300));
  const auto sorted = [](std::vector<std::string> names) { return std::ranges::sort(names), names; };
  const std::vector<std::string> out = sorted(names(all.split(0.3, {.key = "name"}).held_out));
  EXPECT_EQ(sorted(names(all.shuffle(100).split(0.3, {.key = "name"}).held_out)), out);
  EXPECT_EQ(names(all.repeat(2).split(0.3, {.key = "name"}).held_out).size(), 2 * out.size());
  EXPECT_EQ(
      sorted(names(all.cache().split(0.3, {.key = "name"}).held_out, {.seed = 4, .trainer_index = 1, .num_trainers = 3})),
      out);
}

TEST_P(SplitByKey, TakesANumberForTheSameInEveryType) {
  std::vector<int64_t> whole;
  std::vector<int32_t> small;
  std::vector<float> floats;
  std::vector<std::string> texts;
  for (int i = -200; i < 200; ++i) {
    whole.push_back(i), small.push_back(i), floats.push_back(float(i)), texts.push_back(std::to_string(i));
  }
  floats[200] = -0.0f;
  const Shape shape{400};
  const Dataset all = Dataset::from_tensor_slices({{"name", of_texts(texts)},
                                                   {"whole", Tensor::of<int64_t>(shape, std::span<const int64_t>(whole))},
                                                   {"small", Tensor::of<int32_t>(shape, std::span<const int32_t>(small))},
                                                   {"float", Tensor::of<float>(shape, std::span<const float>(floats))}});
  const std::vector<std::string> out = names(all.split(0.4, {.key = "name"}).held_out);
  for (const char* key : {"whole", "small", "float"}) EXPECT_EQ(names(all.split(0.4, {.key = key}).held_out), out) << key;
  // "0.5": XXH3 is the oracle, which the first test compares with its specification.
  const Dataset half = Dataset::from_tensor_slices({{"name", of_texts({"0.5"})}, {"x", Tensor::of<float>({1}, {0.5f})}});
  const double share = double(hash64("0.5")) * 0x1p-64;
  EXPECT_EQ(names(half.split(share + 0.001, {.key = "x"}).held_out).size(), 1u);
  EXPECT_EQ(names(half.split(share - 0.001, {.key = "x"}).held_out).size(), 0u);
}

TEST_P(SplitByKey, RefusesWhatHasNoKey) {
  const Dataset all = people(numbered(0, 10));
  EXPECT_THAT(
      sentence(all.split(0.5, {.key = "id"}).training),
      HasSubstr("split: there is no feature \"id\" to split by; the features are: name, x; a column that is unused"));
  EXPECT_THAT(
      sentence(all.batch(4).split(0.5, {.key = "name"}).training),
      HasSubstr("split: the key \"name\" is string [4], and one element has one key; if elements are batches, call split "
                "before batch"));
  EXPECT_EQ(raised([&] { return all.split(1.5, {.key = "name"}); })->kind(), ErrorKind::kInvalidArgument);
  const Dataset gap = Dataset::from_tensor_slices({{"x", Tensor::of<float>({2}, {1, std::nanf("")})}});
  const Split split = gap.split(0.5, {.key = "x"});
  const std::string missing = "split: the key \"x\" is missing, so that nobody can tell";
  EXPECT_THAT(sentence(split.training), HasSubstr(missing));
  EXPECT_THAT(sentence(split.held_out), HasSubstr(missing));
}

TEST(SplitByKeyOfCsv, NamesTheLineOfAMissingKey) {
  TemporaryFolder folder;
  const std::string path = folder.write("t.csv", "id,x\na,1\n,2\nc,3\n");
  const auto env = make_production_environment({});
  const Dataset csv = Dataset::csv({path}, {.columns = {{"id"}, {"x", DType::kFloat32}}, .header_lines = 1});
  const Split split = csv.shuffle(10, {.seed = 1}).split(0.5, {.key = "id"});
  const auto iterator = value_or_raise(split.held_out.iterate(*env));
  for (Element row;;) {
    const auto more = iterator->next(row);
    ASSERT_TRUE(!more || *more) << "the input has ended";
    if (more) continue;
    EXPECT_EQ(more.error().kind(), ErrorKind::kDataLoss);
    EXPECT_THAT(more.error().message(), HasSubstr(path + ", line 3: split: the key \"id\" is missing"));
    break;
  }
}

/// A position is that of the input, so that a resume goes on with the same rows.
TEST_P(SplitByKey, ResumesWhereItWas) {
  const Dataset training = people(numbered(0, 60)).shuffle(20, {.seed = 3}).split(0.4, {.key = "name"}).training;
  const std::vector<std::string> whole = names(training);
  for (size_t taken = 0; taken <= whole.size(); ++taken) {
    const auto iterator = open(training, env());
    Element element;
    for (size_t i = 0; i < taken; ++i) ASSERT_TRUE(value_or_raise(iterator->next(element)));
    const auto other = open(training, env());
    ASSERT_TRUE(other->restore(value_or_raise(iterator->save())));
    for (size_t i = taken; i < whole.size(); ++i) {
      ASSERT_TRUE(value_or_raise(other->next(element)));
      EXPECT_EQ(element.features["name"].strings()[0], whole[i]);
    }
    EXPECT_FALSE(value_or_raise(other->next(element)));
  }
}

}  // namespace
}  // namespace shoal::data
