// SPDX-License-Identifier: Apache-2.0
/// What each kind of column makes of its features.
#include "shoal/columns/column.h"

#include <algorithm>
#include <cmath>
#include <fstream>

#include "../base/temporary_folder.h"
#include "fixture.h"
#include "shoal/columns/statistics.h"

namespace shoal::columns {
namespace {

const float kNan = std::nanf("");

TEST(NumericColumn, GivesNumbersAsTheyAre) {
  Batch batch({{"age", Tensor::of<float>({3}, {39, 50, -1.5f})},
               {"size", Tensor::of<float>({3, 1}, {1, 2, 3})},
               {"rooms", Tensor::of<int64_t>({3}, {4, 0, 7})},
               {"image", Tensor::of<float>({3, 2, 1}, {1, 2, 3, 4, 5, 6})}});
  EXPECT_THAT(batch.deep(numeric("age")), ElementsAre(39, 50, -1.5f));
  EXPECT_THAT(batch.deep(numeric("size")), ElementsAre(1, 2, 3));
  EXPECT_THAT(batch.deep(numeric("rooms")), ElementsAre(4, 0, 7));
  EXPECT_THAT(batch.deep(numeric("image", {.shape = {2, 1}})), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(batch.linear(numeric("image", {.shape = {2, 1}})), ElementsAre(2, 4, 6));
  EXPECT_THAT(batch.deep(numeric("age", {.normalizer = [](Value x) { return ops::scale(x - 39.0, 2); }})),
              ElementsAre(0, 22, -81));
}

TEST(NumericColumn, MissingNumbersHaveADefaultOrEndTheStep) {
  Batch batch({{"age", Tensor::of<float>({3}, {39, kNan, 5})}});
  const auto doubled = [](Value x) { return ops::scale(x, 2); };
  EXPECT_THAT(batch.deep(numeric("age", {.default_value = 30, .normalizer = doubled})), ElementsAre(78, 60, 10));
  const Value refused = input_layer(batch.features(), {numeric("age")});
  EXPECT_THAT(batch.error_of(refused),
              HasSubstr("feature \"age\": nan in row 1, element 0 is not a number; where it is missing, give the "
                        "column a default_value, or drop these examples by filter()"));
}

TEST(NumericColumn, RefusesWhatDoesNotFit) {
  Batch batch({{"text", Tensor::of_strings({2}, {"a", "b"})}, {"pair", Tensor::of<float>({2, 2}, {1, 2, 3, 4})}});
  EXPECT_THAT(raised([&] { batch.deep(numeric("text")); }),
              HasSubstr("column \"text\" is numeric, and the feature is text"));
  EXPECT_THAT(raised([&] { batch.deep(numeric("pair")); }),
              HasSubstr("has the shape [1] for each example, the feature is [batch, 2]"));
  EXPECT_THAT(raised([&] {
                batch.deep(numeric("pair", {.shape = {2}, .normalizer = [](Value x) { return ops::reduce_sum(x); }}));
              }),
              HasSubstr("the normalizer has to return float32 [batch, 2]"));
  EXPECT_THAT(raised([] { numeric("x", {.shape = {0}}); }), HasSubstr("1 or more"));
  EXPECT_THAT(raised([] { numeric("x", {.default_value = INFINITY}); }),
              HasSubstr("default_value has to be a finite number, and it is infinite; if it was measured, the data have an "
                        "infinite number in that column (inf, 1e999)"));
  EXPECT_THAT(raised([] { numeric("x", {.default_value = NAN}); }), HasSubstr("and it is NaN"));
  EXPECT_THAT(raised([] { columns::standardizer(INFINITY, NAN); }),
              HasSubstr("the data have an infinite number (inf, 1e999)"));
  EXPECT_THAT(raised([] { columns::rescaler(0, INFINITY); }), HasSubstr("the data have an infinite number (inf, 1e999)"));
}

TEST(BucketizedColumn, TakesTheIntervalFromItsLowerEdgeOn) {
  Batch batch({{"age", Tensor::of<float>({6}, {17.99f, 18, 24, 25, 65, 1000})}});
  const Column ages = bucketized(numeric("age"), {18, 25, 65});
  EXPECT_EQ(ages.name(), "age_bucketized");
  EXPECT_THAT(batch.linear(ages), ElementsAre(0, 1, 1, 2, 3, 3));
  EXPECT_THAT(batch.deep(ages), ElementsAre(1, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 1));
}

TEST(BucketizedColumn, MissingNumbersAreNothingOrHaveABucket) {
  Batch batch({{"age", Tensor::of<float>({3}, {1, kNan, 40})}});
  EXPECT_THAT(batch.deep(bucketized(numeric("age"), {18})), ElementsAre(1, 0, 0, 0, 0, 1));
  EXPECT_THAT(batch.deep(bucketized(numeric("age"), {18}, {.missing_bucket = true})),
              ElementsAre(1, 0, 0, 0, 0, 1, 0, 1, 0));
  EXPECT_THAT(batch.deep(bucketized(numeric("age", {.default_value = 18}), {18})), ElementsAre(1, 0, 0, 1, 0, 1));
}

TEST(BucketizedColumn, EachNumberOfAnExampleHasBucketsOfItsOwn) {
  Batch batch({{"pair", Tensor::of<float>({2, 2}, {-1, 1, 1, -1})}});
  EXPECT_THAT(batch.deep(bucketized(numeric("pair", {.shape = {2}}), {0})), ElementsAre(1, 0, 0, 1, 0, 1, 1, 0));
}

TEST(BucketizedColumn, RefusesBoundariesThatDoNotAscend) {
  for (const std::vector<double>& boundaries :
       std::vector<std::vector<double>>{{}, {2, 1}, {1, 1}, {NAN}, {0.1, 0.1 + 1e-12}}) {
    EXPECT_THAT(raised([&] { bucketized(numeric("age"), boundaries); }), HasSubstr("finite numbers that ascend"));
  }
  EXPECT_THAT(raised([] { bucketized(categorical_by_hash("age", {.buckets = 3}), {1}); }),
              HasSubstr("is categorical by hash, expected a numeric one"));
}

TEST(IdentityColumn, TakesIds) {
  Batch batch({{"id", Tensor::of<int64_t>({3}, {0, 2, 1})}, {"small", Tensor::of<int32_t>({3, 1}, {0, 2, 1})}});
  EXPECT_THAT(batch.linear(categorical_by_identity("id", {.count = 3})), ElementsAre(0, 2, 1));
  EXPECT_THAT(batch.linear(categorical_by_identity("small", {.count = 3})), ElementsAre(0, 2, 1));
}

TEST(IdentityColumn, MinusOneIsPaddingInListsOnly) {
  Batch batch({{"list", Tensor::of<int64_t>({2, 2}, {1, -1, -2, -1})},
               {"padded", Tensor::of<int32_t>({2, 2}, {1, -1, 2, 2})},
               {"id", Tensor::of<int64_t>({2}, {-1, 1})},
               {"column", Tensor::of<int32_t>({2, 1}, {1, -1})}});
  EXPECT_THAT(batch.linear(categorical_by_identity("padded", {.count = 3})), ElementsAre(1, 4));
  EXPECT_THAT(batch.linear(categorical_by_identity("list", {.count = 4, .default_id = 3})), ElementsAre(1, 3));
  EXPECT_THAT(batch.linear(categorical_by_identity("id", {.count = 4, .default_id = 3})), ElementsAre(3, 1));
  EXPECT_THAT(batch.linear(categorical_by_identity("column", {.count = 4, .default_id = 3})), ElementsAre(1, 3));
  EXPECT_THAT(batch.deep(indicator(categorical_by_identity("id", {.count = 2, .default_id = -1}))),
              ElementsAre(0, 0, 0, 1));
  const auto error = [&batch](const char* key) {
    return batch.error_of(linear_layer(batch.features(), {categorical_by_identity(key, {.count = 4})}, {.name = key}));
  };
  EXPECT_THAT(error("list"), HasSubstr("feature \"list\": id -2 in row 1"));
  EXPECT_THAT(error("id"), HasSubstr("feature \"id\": id -1 in row 0"));
  EXPECT_THAT(error("id"), HasSubstr("; a default_id of the column replaces ids out of range"));
  EXPECT_THAT(error("column"), HasSubstr("feature \"column\": id -1 in row 1"));
}

/// Batches of lists whose length varies: a batch whose lists have one id each may be padded too.
TEST(IdentityColumn, ListsOfVaryingLengthMayBePadded) {
  Graph graph(1);
  const Value words = graph.input("words", DType::kInt64, {Dim::symbol("batch"), Dim::symbol("length")});
  const Value y = input_layer({{"words", words}}, {indicator(categorical_by_identity("words", {.count = 2}))});
  nn::GraphRunner runner(graph, {{"batch", 2}, {"length", 1}});
  EXPECT_THAT(runner.floats(y, {{"words", Tensor::of<int64_t>({2, 1}, {-1, 1})}}), ElementsAre(0, 0, 0, 1));
}

TEST(IdentityColumn, IdsOutsideHaveADefaultOrEndTheStep) {
  Batch batch({{"id", Tensor::of<int64_t>({4}, {0, 9, -1, -2})}});
  EXPECT_THAT(batch.linear(categorical_by_identity("id", {.count = 3, .default_id = 2})), ElementsAre(0, 2, 2, 2));
  const Value refused = linear_layer(batch.features(), {categorical_by_identity("id", {.count = 3})});
  EXPECT_THAT(batch.error_of(refused), HasSubstr("feature \"id\": id 9 in row 1"));
  EXPECT_THAT(raised([] { categorical_by_identity("id", {}); }), HasSubstr("count is 0, expected 1 or more"));
  EXPECT_THAT(raised([] { categorical_by_identity("id", {.count = 3, .default_id = 3}); }),
              HasSubstr("expected -1 or an id below 3"));
  Batch text({{"id", Tensor::of_strings({1}, {"a"})}});
  EXPECT_THAT(raised([&] { text.linear(categorical_by_identity("id", {.count = 3})); }),
              HasSubstr("takes integers, and the feature is"));
}

TEST(VocabularyColumn, TakesPlacesInTheList) {
  Batch batch(
      {{"pet", Tensor::of_strings({5}, {"dog", "cat", "", "emu", "?"})}, {"n", Tensor::of<int64_t>({5}, {7, 8, 7, 9, 8})}});
  const std::vector<std::string> pets{"cat", "dog"};
  EXPECT_THAT(batch.deep(indicator(categorical_by_vocabulary("pet", pets))), ElementsAre(0, 1, 1, 0, 0, 0, 0, 0, 0, 0));
  EXPECT_THAT(batch.linear(categorical_by_vocabulary("pet", pets, {.default_id = 1})), ElementsAre(1, 0, 0, 1, 1));
  EXPECT_THAT(
      batch.linear(categorical_by_vocabulary("pet", pets, {.default_id = 1, .missing = {"", "?"}, .missing_bucket = true})),
      ElementsAre(1, 0, 2, 1, 2));
  EXPECT_THAT(batch.linear(categorical_by_vocabulary("n", {"8", "7"})), ElementsAre(1, 0, 1, 0, 0));
}

TEST(VocabularyColumn, UnknownTextsShareBuckets) {
  Batch batch({{"pet", Tensor::of_strings({3}, {"cat", "omega", "42"})}});
  // hash64("omega") % 10 and hash64("42") % 10, after the one name.
  EXPECT_THAT(batch.linear(categorical_by_vocabulary("pet", {"cat"}, {.oov_buckets = 10})), ElementsAre(0, 1 + 7, 1 + 3));
}

TEST(VocabularyColumn, RefusesWhatDoesNotFit) {
  EXPECT_THAT(raised([] { categorical_by_vocabulary("pet", {"a", "a"}); }), HasSubstr("column \"pet\": the vocabulary"));
  EXPECT_THAT(raised([] { categorical_by_vocabulary("pet", {}); }), HasSubstr("the vocabulary is empty"));
  EXPECT_THAT(raised([] { categorical_by_vocabulary("pet", {"a"}, {.default_id = 1}); }), HasSubstr("default_id is 1"));
  EXPECT_THAT(raised([] { categorical_by_vocabulary("pet", {"a"}, {.oov_buckets = 2, .default_id = 0}); }),
              HasSubstr("not both"));
  EXPECT_THAT(raised([] { categorical_by_vocabulary("pet", {"a"}, {.oov_buckets = -1}); }), HasSubstr("oov_buckets is -1"));
}

TEST(VocabularyColumn, ReadsAFile) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/pets.txt";
  std::ofstream(path) << "cat\r\ndog\nemu";
  Batch batch({{"pet", Tensor::of_strings({3}, {"emu", "dog", "cat"})}});
  EXPECT_THAT(batch.linear(categorical_by_vocabulary_file("pet", path)), ElementsAre(2, 1, 0));
  std::ofstream(path) << "\xEF\xBB\xBF"
                         "cat\ndog\nemu\n";  // The mark is no part of the first word.
  EXPECT_THAT(batch.linear(categorical_by_vocabulary_file("pet", path)), ElementsAre(2, 1, 0));
  std::ofstream(path) << "cat\rdog\remu\r";
  EXPECT_THAT(
      raised([&] { categorical_by_vocabulary_file("pet", path); }),
      testing::AllOf(HasSubstr("column \"pet\": the vocabulary: " + path), HasSubstr("lines that end with CR alone")));
  std::ofstream(path) << "cat\ncat\n";
  EXPECT_THAT(raised([&] { categorical_by_vocabulary_file("pet", path); }),
              testing::AllOf(HasSubstr("DataLoss"), HasSubstr(path)));
  EXPECT_THAT(raised([&] { categorical_by_vocabulary_file("pet", path + "x"); }), HasSubstr("NotFound"));
}

TEST(HashColumn, HasFixedBuckets) {
  Batch batch({{"work", Tensor::of_strings({4}, {"Private", "State-gov", "", "42"})},
               {"n", Tensor::of<int64_t>({4}, {42, 42, 1, 42})}});
  // XXH3 with seed 0 of the bytes, modulo 1000.
  EXPECT_THAT(batch.linear(categorical_by_hash("work", {.buckets = 1000})), ElementsAre(117, 434, 0, 473));
  EXPECT_THAT(batch.linear(categorical_by_hash("work", {.buckets = 1000, .missing_bucket = true})),
              ElementsAre(117, 434, 1000, 473));
  EXPECT_EQ(batch.linear(categorical_by_hash("n", {.buckets = 1000}))[0], 473);  // Integers count as their digits.
  EXPECT_THAT(raised([] { categorical_by_hash("work", {}); }), HasSubstr("buckets is 0, expected 1 or more"));
}

TEST(CrossedColumn, HasFixedBuckets) {
  Batch batch({{"education", Tensor::of_strings({3}, {"Bachelors", "HS-grad", "HS-grad"})},
               {"occupation", Tensor::of_strings({3}, {"Tech-support", "Sales", ""})},
               {"age", Tensor::of<float>({3}, {17, 70, 70})}});
  // XXH3 of both hashes, as 8 bytes each, modulo 1000; a missing text has no combination.
  const Column texts = crossed({"occupation", "education"}, {.buckets = 1000});
  EXPECT_EQ(texts.name(), "education_X_occupation");
  EXPECT_THAT(batch.linear(texts), ElementsAre(88, 831, 0));
  const Column ages = crossed({bucketized(numeric("age"), {18, 25, 65}), "occupation"}, {.buckets = 100});
  EXPECT_EQ(batch.linear(ages)[1], 71);
}

TEST(CrossedColumn, CombinesAllValuesOfLists) {
  Batch batch({{"a", Tensor::of_strings({1, 2}, {"x", "y"})}, {"b", Tensor::of_strings({1, 3}, {"1", "2", ""})}});
  const std::vector<float> hot = batch.deep(indicator(crossed({"a", "b"}, {.buckets = 1000003})));
  EXPECT_EQ(std::count(hot.begin(), hot.end(), 1.0f), 4);
}

TEST(CrossedColumn, RefusesWhatDoesNotFit) {
  const Column hashed = categorical_by_hash("a", {.buckets = 3});
  EXPECT_THAT(raised([&] {
                crossed({hashed, "b"}, {.buckets = 3});
              }),
              HasSubstr("is categorical by hash; cross the features"));
  EXPECT_THAT(raised([&] {
                crossed({numeric("a"), "b"}, {.buckets = 3});
              }),
              HasSubstr("is numeric, expected a categorical or bucketized"));
  EXPECT_THAT(raised([] { crossed({"a"}, {.buckets = 3}); }), HasSubstr("two keys or more"));
  EXPECT_THAT(raised([] { crossed({"a", "a"}, {.buckets = 3}); }), HasSubstr("crossed with itself"));
  EXPECT_THAT(raised([] { crossed({"a", "b"}, {}); }), HasSubstr("buckets is 0"));
}

TEST(WeightedColumn, CountsIdsByTheirWeights) {
  Batch batch({{"pet", Tensor::of_strings({2, 2}, {"cat", "dog", "dog", ""})},
               {"much", Tensor::of<float>({2, 2}, {0.5f, 2, 3, 100})},
               {"alone", Tensor::of<float>({2}, {1, 2})}});
  const Column pets = categorical_by_vocabulary("pet", {"cat", "dog"});
  const Column some = weighted(pets, "much");
  EXPECT_EQ(some.name(), "pet_weighted_by_much");
  EXPECT_THAT(batch.deep(indicator(some)), ElementsAre(0.5f, 2, 0, 3));
  EXPECT_THAT(batch.linear(some), ElementsAre(2, 3));
  EXPECT_THAT(raised([&] { batch.linear(weighted(pets, "alone")); }), HasSubstr("expected float32 [batch, 2]"));
  EXPECT_THAT(raised([&] { weighted(numeric("much"), "alone"); }), HasSubstr("weighted: column \"much\" is numeric"));
}

TEST(IndicatorColumn, CountsRepeatedIds) {
  Batch batch({{"pet", Tensor::of_strings({2, 3}, {"cat", "dog", "cat", "", "", ""})}});
  EXPECT_THAT(batch.deep(indicator(categorical_by_vocabulary("pet", {"cat", "dog"}))), ElementsAre(2, 1, 0, 0));
}

class EmbeddingColumn : public testing::Test {
 protected:
  /// The embedding of lists of pets with the rows (1, 2), (10, 20).
  std::vector<float> embedded(ops::Combiner combiner) {
    const Column column =
        embedding(categorical_by_vocabulary("pet", {"cat", "dog"}), {.dimension = 2, .combiner = combiner});
    const Value y = input_layer(batch_.features(), {column}, {.name = "in" + std::to_string(++layers_)});
    batch_.floats(y);
    batch_.runner().variable("in" + std::to_string(layers_) + "/pet_embedding/table") = {1, 2, 10, 20};
    return batch_.floats(y);
  }
  Batch batch_{{{"pet", Tensor::of_strings({3, 3}, {"cat", "dog", "dog", "emu", "", "dog", "", "", ""})}}};
  int layers_ = 0;
};

TEST_F(EmbeddingColumn, CombinesTheRowsOfAnExample) {
  EXPECT_THAT(embedded(ops::Combiner::kSum), ElementsAre(21, 42, 10, 20, 0, 0));
  EXPECT_THAT(embedded(ops::Combiner::kMean),
              testing::Pointwise(testing::FloatEq(), std::vector<float>{7, 14, 10, 20, 0, 0}));
  const float root = 1 / std::sqrt(3.0f);
  const std::vector<float> values = embedded(ops::Combiner::kSqrtN);
  EXPECT_NEAR(values[0], 21 * root, 1e-5);
  EXPECT_NEAR(values[1], 42 * root, 1e-5);
  EXPECT_THAT(std::vector<float>(values.begin() + 2, values.end()), ElementsAre(10, 20, 0, 0));
}

TEST_F(EmbeddingColumn, StartsAsAskedFor) {
  const Column pets = categorical_by_vocabulary("pet", {"cat", "dog"});
  input_layer(batch_.features(), {embedding(pets, {.dimension = 16})});
  EXPECT_EQ(batch_.graph().variables()[0].initializer.kind, Initializer::Kind::kTruncatedNormal);
  EXPECT_EQ(batch_.graph().variables()[0].initializer.b, 0.25);
  input_layer(batch_.features(), {embedding(pets, {.dimension = 3, .initializer = nn::ones(), .trainable = false})});
  EXPECT_EQ(batch_.graph().variables()[1].initializer.a, 1);
  EXPECT_FALSE(batch_.graph().variables()[1].trainable);
}

TEST_F(EmbeddingColumn, RefusesWhatDoesNotFit) {
  EXPECT_THAT(raised([] { embedding(numeric("x"), {.dimension = 2}); }), HasSubstr("embedding: column \"x\" is numeric"));
  EXPECT_THAT(raised([] { embedding(categorical_by_hash("x", {.buckets = 2}), {}); }), HasSubstr("dimension is 0"));
}

TEST(SharedEmbedding, IsOneTable) {
  Batch batch({{"first", Tensor::of_strings({1}, {"b"})}, {"second", Tensor::of_strings({1}, {"b"})}});
  const std::vector<std::string> names{"a", "b"};
  const auto shared = shared_embedding(
      {categorical_by_vocabulary("second", names), categorical_by_vocabulary("first", names)}, {.dimension = 2});
  EXPECT_EQ(shared[0].name(), "second_shared_embedding");
  const std::vector<float> y = batch.floats(input_layer(batch.features(), shared));
  ASSERT_EQ(batch.graph().variables().size(), 1u);
  EXPECT_EQ(batch.graph().variables()[0].name, "input_layer/first_second_shared_embedding/table");
  EXPECT_EQ(y[0], y[2]);
  EXPECT_EQ(y[1], y[3]);
  EXPECT_THAT(raised([&] {
                shared_embedding({categorical_by_vocabulary("first", names), categorical_by_hash("second", {.buckets = 3})},
                                 {.dimension = 2});
              }),
              HasSubstr("column \"second\" has 3 ids, \"first\" 2"));
  EXPECT_THAT(raised([] { shared_embedding({}, {.dimension = 2}); }), HasSubstr("no columns were given"));
}

TEST(Summary, SaysWhatColumnsBecome) {
  const Column work = categorical_by_hash("work", {.buckets = 50});
  EXPECT_EQ(summary({numeric("age"), bucketized(numeric("age"), {18, 25}), work, embedding(work, {.dimension = 8})}),
            "column          kind                 made of  ids  values  parameters\n"
            "age             numeric              age        -       1           0\n"
            "age_bucketized  bucketized           age        3       3           0\n"
            "work            categorical by hash  work      50       -           0\n"
            "work_embedding  embedding            work       -       8         400\n"
            "total                                                  12         400\n");
}

TEST(Summary, CountsASharedTableOnce) {
  std::vector<Column> ids;
  for (const char* key : {"first", "second"}) ids.push_back(categorical_by_hash(key, {.buckets = 50}));
  EXPECT_THAT(summary(shared_embedding(ids, {.dimension = 8})), testing::EndsWith("16         400\n"));
}

}  // namespace
}  // namespace shoal::columns
