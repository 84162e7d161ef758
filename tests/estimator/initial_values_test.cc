// SPDX-License-Identifier: Apache-2.0
// Initial values that differ from those of the layers, and their precedence (CONTRACT EST-6, EST-14).
#include "shoal/estimator/initial_value.h"

#include "shoal/estimator/run_cluster.h"
#include "warm_start_fixture.h"

namespace shoal::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

using Given = std::vector<std::pair<std::string, InitialValue>>;

ModelFn with_values(Given given, ModelFn model = word_model) {
  return [given, model](const Features& features, const Labels& labels, Mode mode, const Params& params,
                        const RunConfig& config) {
    EstimatorSpec spec = model(features, labels, mode, params, config);
    spec.initial_values = given;
    return spec;
  };
}

std::string bits_of(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}
/// A table that no initializer can make: row i is i + 0.25, i + 0.5, i + 0.75.
std::vector<float> numbered(int64_t rows) {
  std::vector<float> values;
  for (int64_t i = 0; i < rows; ++i) values.insert(values.end(), {float(i) + 0.25f, float(i) + 0.5f, float(i) + 0.75f});
  return values;
}
Tensor numbered_table(int64_t rows) { return Tensor::of<float>({rows, 3}, numbered(rows)); }

class InitialValuesTest : public WarmStartTest {
 protected:
  /// The bits of the first checkpoint of a model with these initial values.
  Bits begun_with(Given given, std::optional<WarmStart> start = {}) {
    Place place;
    Estimator estimator = place.estimator(with_values(std::move(given)), {.random_seed = 8});
    if (start) estimator.warm_start(*start);
    estimator.train(sentences, {.steps = 1});
    return tensors(place.model_dir() + "/model.ckpt-0");
  }
  std::string refused_with(Given given) {
    Place place;
    Estimator estimator = place.estimator(with_values(std::move(given)));
    const std::string sentence = refusal([&] { estimator.train(sentences, {.steps = 1}); });
    EXPECT_TRUE(retained(place.model_dir()).empty());
    return sentence;
  }
};

TEST_F(InitialValuesTest, TakeThePlaceOfInitializersAndOfNothingElse) {
  Bits expected = begun({});
  expected["out/bias"] = bits_of({2, 2, 2});
  expected["batch_norm/moving_mean"] = expected["batch_norm/moving_variance"] = bits_of({3, 3, 3});
  expected["words/table"] = bits_of(numbered(5));
  EXPECT_EQ(begun_with({{"out/bias", nn::constant(2)},
                        {"batch_norm/moving_.*", Tensor::of<float>({3}, {3, 3, 3})},
                        {"words/table", numbered_table(5)}}),
            expected);
}

TEST_F(InitialValuesTest, AnInitializerGivesWhatALayerWithItWouldHave) {
  const auto layer = [](nn::InitializerSpec kernel) {
    return [kernel](const Features& features, const Labels& labels, Mode mode) {
      const Value logits = nn::dense(features.single(), {.units = 3, .kernel_initializer = kernel, .name = "out"});
      return EstimatorSpec(nn::multi_class_head({.n_classes = 3})
                               ->build({.mode = mode, .labels = labels, .logits = logits, .optimizer = nn::sgd({})}));
    };
  };
  const auto first_kernel = [](ModelFn model) {
    Place place;
    place.estimator(std::move(model)).train([] {
      return Dataset::from_tensor_slices(Tensor::zeros(DType::kFloat32, {2, 5}), Tensor::of<int64_t>({2}, {0, 2})).batch(2);
    });
    return tensors(place.model_dir() + "/model.ckpt-0").at("out/kernel");
  };
  const std::string he = first_kernel(layer(nn::he_normal()));
  EXPECT_NE(he, first_kernel(layer(nn::glorot_uniform())));
  EXPECT_EQ(first_kernel(with_values({{"out/kernel", nn::he_normal()}}, layer(nn::glorot_uniform()))), he);
}

TEST_F(InitialValuesTest, OfSeveralThatMatchTheLastCounts) {
  const Bits made = begun_with({{".*", nn::constant(1)},
                                {"out/.*", nn::constant(2)},
                                {"words/table", numbered_table(5)},
                                {"batch_norm/scale", Tensor::of<float>({3}, {5, 6, 7})},
                                {"batch_norm/s.*", nn::constant(4)}});
  EXPECT_EQ(made.at("batch_norm/moving_mean"), bits_of({1, 1, 1}));
  EXPECT_EQ(made.at("batch_norm/scale"), bits_of({4, 4, 4}));
  EXPECT_EQ(made.at("out/bias"), bits_of({2, 2, 2}));
  EXPECT_EQ(made.at("words/table"), bits_of(numbered(5)));
}

TEST_F(InitialValuesTest, AWarmStartCountsMore) {
  Bits expected = with(begun({}), old_bits(), {"out/bias"});
  expected["out/kernel"] = bits_of(std::vector<float>(9, 2));
  expected["words/table"] = bits_of(numbered(5));
  EXPECT_EQ(begun_with({{"out/.*", nn::constant(2)}, {"words/table", numbered_table(5)}},
                       {{.from = from(), .variables = "out/bias"}}),
            expected);
  EXPECT_EQ(begun_with({{"words/table", numbered_table(5)}}, {{.from = from(), .variables = "words/table"}}),
            with(begun({}), old_bits(), {"words/table"}));
}

TEST_F(InitialValuesTest, RowsThatAWarmStartDoesNotBringStartSoUnlessItSaysHow) {
  WarmStart start{.from = from(), .variables = "words/table"};
  start.vocabularies["words/table"] = {.old_tokens = {"a", "b"}, .new_tokens = {"x", "b"}};
  const std::string old_row = row_of_bits(old_bits().at("words/table"), 1);
  for (const bool by_values : {false, true}) {
    const InitialValue value = by_values ? InitialValue(numbered_table(5)) : InitialValue(nn::constant(7));
    const std::string other = by_values ? bits_of(numbered(5)) : bits_of(std::vector<float>(15, 7));
    const std::string table = begun_with({{"words/table", value}}, start).at("words/table");
    for (size_t row = 0; row < 5; ++row) {
      EXPECT_EQ(row_of_bits(table, row), row == 1 ? old_row : row_of_bits(other, row)) << by_values << " " << row;
    }
  }
  start.vocabularies["words/table"].backup_initializer = nn::zeros();
  const std::string table = begun_with({{"words/table", numbered_table(5)}}, start).at("words/table");
  EXPECT_EQ(table, bits_of({0, 0, 0}) + old_row + bits_of(std::vector<float>(9, 0)));
}

TEST_F(InitialValuesTest, ACheckpointCountsMost) {
  const Bits expected = [this] {
    Place place;
    place.estimator(word_model, {.random_seed = 8}).train(sentences, {.steps = 2}).train(sentences, {.steps = 1});
    return tensors(place.model_dir() + "/model.ckpt-3");
  }();
  make().train(sentences, {.steps = 2});
  make({}, with_values({{"out/.*", nn::constant(2)}, {"words/table", numbered_table(5)}})).train(sentences, {.steps = 1});
  EXPECT_EQ(tensors(place_.model_dir() + "/model.ckpt-3"), expected);
  EXPECT_EQ(place_.log.count('I', "initial values:"), 0);
}

TEST_F(InitialValuesTest, AreToldOfWhereTheyAreValues) {
  make({}, with_values({{"out/.*", nn::constant(2)}, {"words/table", numbered_table(5)}})).train(sentences, {.steps = 1});
  EXPECT_EQ(place_.log.count('I', "initial values: 1 of 7 variables start from values of model_fn"), 1);
}

TEST_F(InitialValuesTest, AreWhatPredictionBeginsWithToo) {
  const Estimator estimator = place_.estimator(
      with_values({{"linear/bias", nn::constant(3)}, {"linear/kernel", Tensor::of<float>({1, 1}, {2})}}, linear_model));
  const auto predictions = estimator.predict([] { return line({5}).batch(1); });
  EXPECT_EQ(predictions->next()->find("y")->as<float>()[0], 13);
  EXPECT_EQ(estimator.evaluate([] { return line({5}).batch(1); }).at("loss"), 4) << "13 where 11 was expected";
}

TEST_F(InitialValuesTest, RefuseWhatFitsNoVariable) {
  EXPECT_THAT(
      refused_with({{"out/bais", nn::zeros()}}),
      HasSubstr("model_fn: initial_values: \"out/bais\" matches no variable of the model; there are: words/table, "));
  EXPECT_THAT(refused_with({{"out", nn::zeros()}}), HasSubstr("matches no variable")) << "a part of a name is none";
  EXPECT_THAT(refused_with({{"!out", nn::zeros()}}), HasSubstr("\"!out\" leaves out no variable of the model"));
  EXPECT_THAT(refused_with({{"out/(bias", nn::zeros()}}), HasSubstr("\"out/(bias\" is not a regular expression"));
  EXPECT_THAT(refused_with({{"out/bias", Tensor::of<float>({2}, {1, 2})}}),
              HasSubstr("out/bias is float32 [3], the values are float32 [2]"));
  EXPECT_THAT(refused_with({{"out/bias", Tensor::of<int64_t>({3}, {1, 2, 3})}}), HasSubstr("the values are int64 [3]"));
  EXPECT_THAT(refused_with({{"out/.*", nn::orthogonal()}}), HasSubstr("model_fn: initial_values: out/bias: "));
  EXPECT_THAT(refused_with({{"out/.*", nn::normal(0, -1)}}), HasSubstr("model_fn: initial_values: out/"));
}

TEST_F(InitialValuesTest, OtherModesPassOverNamesThatTheyLack) {
  const Estimator estimator =
      place_.estimator(with_values({{"only/in/training", nn::zeros()}, {"linear/bias", nn::constant(3)}}, linear_model));
  EXPECT_EQ(estimator.predict([] { return line({5}).batch(1); })->next()->find("y")->as<float>()[0], 3);
}

TEST_F(InitialValuesTest, CountOnceForAllReplicasOfAProcess) {
  const ModelFn model = with_values({{"words/table", numbered_table(5)}, {"out/kernel", nn::uniform(0, 9)}});
  make({}, model).train(sentences, {.steps = 1});
  Place place;
  RunConfigOptions options{.random_seed = 8};
  options.runtime = RuntimeOptions{.threads = 1, .backend = "reference", .replicas = 2};
  place.estimator(model, options).train(sentences, {.steps = 1});
  const Bits first = tensors(place.model_dir() + "/model.ckpt-0");
  EXPECT_EQ(first.at("words/table"), bits_of(numbered(5)));
  EXPECT_EQ(first, tensors(place_.model_dir() + "/model.ckpt-0"));
  EXPECT_EQ(place.log.count('I', "initial values: 1 of 7"), 1);
}

TEST_F(InitialValuesTest, ServersBeginWithTheBitsOfOneProcess) {
  const Params params{{"words", 96}};  // The table is split among three servers.
  const ModelFn model = with_values({{"words/table", numbered_table(96)},
                                     {"out/kernel", nn::uniform(0, 9)},
                                     {"batch_norm/moving_mean", nn::constant(4)}});
  make(params, model).train(sentences, {.steps = 3});
  const Bits first = tensors(place_.model_dir() + "/model.ckpt-0");
  EXPECT_EQ(first.at("words/table"), bits_of(numbered(96)));
  EXPECT_EQ(first.at("batch_norm/moving_mean"), bits_of({4, 4, 4}));
  for (const int32_t servers : {1, 3}) {
    Place place;
    Log& log = place.log;
    const auto outcomes =
        run_cluster({.ps = servers},
                    [&](RunConfig config) {
                      Estimator estimator(model, std::move(config), params);
                      train_and_evaluate(estimator, {.input_fn = sentences(), .max_steps = 3}, {.input_fn = sentences()});
                    },
                    {.config = {.model_dir = place.model_dir(),
                                .random_seed = 8,
                                .runtime = RuntimeOptions{.threads = 1, .backend = "reference"},
                                .log_sink = log.sink()}});
    for (const TaskOutcome& outcome : outcomes) EXPECT_TRUE(outcome.result) << outcome.task;
    EXPECT_EQ(tensors(place.model_dir() + "/model.ckpt-0"), first) << servers;
    EXPECT_EQ(tensors(place.model_dir() + "/model.ckpt-3"), tensors(place_.model_dir() + "/model.ckpt-3")) << servers;
    EXPECT_EQ(log.count('I', "initial values: 1 of 7"), 1) << "the chief's alone";
  }
}

}  // namespace
}  // namespace shoal::testing
