// SPDX-License-Identifier: Apache-2.0
// Variables that start from another model's: which ones, from which source, and when (CONTRACT EST-14, EST-11, EST-13).
#include "shoal/estimator/warm_start.h"

#include "shoal/estimator/exported_model.h"
#include "warm_start_fixture.h"

namespace shoal::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Which variables.

TEST_F(WarmStartTest, TakesAllTrainableVariablesAndNothingElse) {
  const Bits expected = with(begun({}), old_bits(), kTrainable);
  EXPECT_EQ(begun({{.from = from()}}), expected);
  // By now the old model has other moving statistics and slots, so equality shows that these were not taken.
  for (const auto& [name, bits] : old_bits()) {
    const bool chosen = std::ranges::find(kTrainable, name) != kTrainable.end();
    EXPECT_EQ(bits == expected.at(name), chosen) << name;
  }
}

TEST_F(WarmStartTest, BeginsAtStepZeroWithoutACountOfUpdates) {
  Estimator estimator = make();
  estimator.warm_start({.from = from()}).train(sentences, {.steps = 1});
  const auto reader = value_or_raise(checkpoint::Reader::open(*make_file_storage(), place_.model_dir() + "/model.ckpt-0"));
  EXPECT_EQ(reader->global_step(), 0);
  EXPECT_EQ(reader->manifest().info.counters.at("update_count/0"), 0u);
  EXPECT_EQ(place_.log.count(
                'I', "warm start: 5 of 7 variables start from checkpoint " + from() + "/model.ckpt-4 of global step 4"),
            1);
}

TEST_F(WarmStartTest, OnePatternChoosesAmongTrainableVariables) {
  EXPECT_EQ(begun({{.from = from(), .variables = "batch_norm/.*"}}),
            with(begun({}), old_bits(), {"batch_norm/scale", "batch_norm/shift"}));
}

TEST_F(WarmStartTest, AListOfPatternsChoosesAmongAllVariables) {
  EXPECT_EQ(begun({{.from = from(), .variables = {"batch_norm/moving.*", "out/bias"}}}),
            with(begun({}), old_bits(), {kMoving[0], kMoving[1], "out/bias"}));
  std::vector<std::string> all = kTrainable;
  all.insert(all.end(), kMoving.begin(), kMoving.end());
  EXPECT_EQ(begun({{.from = from(), .variables = {".*"}}}), with(begun({}), old_bits(), all));
}

TEST(WarmStartChoices, OneTextIsAPatternAndBracesAreAList) {
  const std::string text = "a";
  const std::string_view view = "a";
  for (const WarmStartChoice& choice : {WarmStartChoice("a"), WarmStartChoice(text), WarmStartChoice(view)}) {
    EXPECT_TRUE(choice.trainable_only());
    EXPECT_EQ(choice.patterns(), std::vector<std::string>{"a"});
  }
  const WarmStartChoice one = {"a"}, two = {"a", "b"}, strings = {text, std::string("b")}, views = {view, view},
                        vector = std::vector<std::string>{"a", "b"};
  EXPECT_EQ(one.patterns(), std::vector<std::string>{"a"});
  EXPECT_EQ(views.patterns(), (std::vector<std::string>{"a", "a"}));
  for (const WarmStartChoice* list : {&two, &strings, &vector}) {
    EXPECT_EQ(list->patterns(), (std::vector<std::string>{"a", "b"}));
  }
  for (const WarmStartChoice* list : {&one, &two, &strings, &views, &vector}) EXPECT_FALSE(list->trainable_only());
}

TEST_F(WarmStartTest, NoneChoosesWhatHasAVocabulary) {
  const std::vector<std::string> words = {"a", "b", "c", "d", "e"};
  EXPECT_EQ(begun({{.from = from(),
                    .variables = std::nullopt,
                    .vocabularies = {{"words/table", {.old_tokens = words, .new_tokens = words}}}}}),
            with(begun({}), old_bits(), {"words/table"}));
}

TEST_F(WarmStartTest, MapsNewNamesToOldOnes) {
  const Params params{{"scope", "classes"}};
  Bits expected = with(begun({}, params), old_bits(), {"batch_norm/scale", "batch_norm/shift", "words/table"});
  expected["classes/kernel"] = old_bits().at("out/kernel");
  expected["classes/bias"] = old_bits().at("out/bias");
  EXPECT_EQ(begun({{.from = from(), .names = {{"classes/kernel", "out/kernel"}, {"classes/bias", "out/bias"}}}}, params),
            expected);
}

// From where.

TEST_F(WarmStartTest, TakesTheNewestOfAFolderOrTheCheckpointThatIsNamed) {
  EXPECT_EQ(begun({{.from = from() + "/model.ckpt-2"}}), with(begun({}), old_bits(2), kTrainable));
  EXPECT_NE(old_bits(2).at("out/kernel"), old_bits(4).at("out/kernel"));
}

TEST_F(WarmStartTest, TakesAnExportedModel) {
  const std::string folder = old_->export_model(old_place_.folder / "exports", [] { return sentences(); });
  EXPECT_EQ(begun({{.from = folder}}), with(begun({}), old_bits(), kTrainable));
  const std::string exports = old_place_.folder / "exports";
  EXPECT_THAT(refused({.from = exports}, {}, ErrorKind::kNotFound),
              HasSubstr("; " + exports + " has exports: name one, such as " + folder));
}

TEST_F(WarmStartTest, SaysWhereNothingIs) {
  for (const std::string& nowhere : {place_.folder / "nowhere", from() + "/model.ckpt-3"}) {
    EXPECT_THAT(refused({.from = nowhere}, {}, ErrorKind::kNotFound),
                AllOf(HasSubstr("warm start from " + nowhere), HasSubstr("exported model")));
  }
}

TEST_F(WarmStartTest, DamageIsDataLossNamingTheFile) {
  const std::string name = "model.ckpt-4.data-00000-of-00001", data = from() + "/" + name;
  const std::string intact = read_file(data);
  std::string flipped = intact;
  flipped[flipped.size() - 5] = char(flipped[flipped.size() - 5] ^ 1);
  write_file(data, flipped);
  EXPECT_THAT(refused({.from = from(), .variables = {".*"}}, {}, ErrorKind::kDataLoss),
              AllOf(HasSubstr(name), HasSubstr("warm start")));
  write_file(data, intact.substr(1));
  EXPECT_THAT(refused({.from = from()}, {}, ErrorKind::kDataLoss), HasSubstr(name));
  std::filesystem::remove(data);
  EXPECT_THAT(refused({.from = from()}, {}, ErrorKind::kDataLoss), HasSubstr(name));
  EXPECT_THAT(refused({.from = from() + "/model.ckpt-4"}, {}, ErrorKind::kDataLoss), HasSubstr(name));
  write_file(from() + "/checkpoint", "nonsense");
  EXPECT_THAT(refused({.from = from()}, {}, ErrorKind::kDataLoss), HasSubstr("checkpoint"));
}

// When.

TEST_F(WarmStartTest, ARestartGoesOnFromItsOwnCheckpoint) {
  Estimator estimator = make();
  estimator.warm_start({.from = from()}).train(sentences, {.steps = 1});
  std::filesystem::remove_all(from());  // The source is not even opened.
  Estimator again = make();
  again.warm_start({.from = from()}).train(sentences, {.steps = 1});
  EXPECT_THAT(retained(place_.model_dir()), ::testing::ElementsAre("model.ckpt-0", "model.ckpt-1", "model.ckpt-2"));
  EXPECT_EQ(place_.log.count('I', "warm start:"), 1);
}

TEST_F(WarmStartTest, AModelThatWasTrainedWithoutStaysAsItIs) {
  make().train(sentences, {.steps = 1});
  const Bits before = tensors(place_.model_dir() + "/model.ckpt-1");
  Estimator estimator = make();
  estimator.warm_start({.from = from()}).train(sentences, {.max_steps = 1});
  (void)estimator.evaluate(sentences, {.steps = 1});
  EXPECT_EQ(tensors(*estimator.latest_checkpoint()), before);
  EXPECT_EQ(place_.log.count('I', "warm"), 0);
}

/// A run that saves nothing cannot resume: the next one begins with the warm start again.
TEST_F(WarmStartTest, WithoutCheckpointsEachRunBeginsWithIt) {
  for (int run = 0; run < 2; ++run) {
    place_.estimator(word_model, {.save_checkpoints_steps = std::nullopt, .save_checkpoints_secs = std::nullopt})
        .warm_start({.from = from()})
        .train(sentences, {.steps = 1});
  }
  EXPECT_EQ(place_.log.count('I', "warm start:"), 2);
}

// Without training.

std::string all_bits(Predictions& predictions) {
  std::string bits;
  while (auto batch = predictions.next()) {
    for (const auto& [name, tensor] : *batch) {
      if (tensor.dtype() == DType::kFloat32) bits.append(reinterpret_cast<const char*>(tensor.view().data), tensor.bytes());
    }
  }
  return bits;
}
Dataset four_words() { return Dataset::from_tensor_slices(Tensor::of<int64_t>({4}, {3, 1, 4, 1})).batch(4); }

TEST_F(WarmStartTest, EvaluatesWithoutACheckpointAtStepZero) {
  Metrics expected = old_->evaluate(sentences, {.steps = 2});
  const Metrics got = make().warm_start({.from = from(), .variables = {".*"}}).evaluate(sentences, {.steps = 2});
  EXPECT_EQ(got.at("global_step"), 0);
  expected["global_step"] = 0;
  EXPECT_EQ(got, expected);
  EXPECT_NE(make().evaluate(sentences, {.steps = 2}).at("loss"), got.at("loss"));
  EXPECT_EQ(place_.log.count('I', "evaluation: no checkpoint, so the warm-started model is evaluated"), 1);
  EXPECT_EQ(place_.log.count('I', "evaluation: no checkpoint, so the freshly initialized model is evaluated"), 1);
}

TEST_F(WarmStartTest, PredictsWithoutACheckpoint) {
  Estimator estimator = make();
  estimator.warm_start({.from = from(), .variables = {".*"}});
  EXPECT_EQ(all_bits(*estimator.predict(four_words)), all_bits(*old_->predict(four_words)));
  EXPECT_NE(all_bits(*make().predict(four_words)), all_bits(*old_->predict(four_words)));
  EXPECT_EQ(place_.log.count('I', "prediction: no checkpoint, so the warm-started model predicts"), 1);
}

TEST_F(WarmStartTest, ExportsWithoutACheckpointWhatItPredicts) {
  const std::string base = place_.folder / "exports";
  EXPECT_THAT(refusal([&] { (void)make().export_model(base, four_words); }, ErrorKind::kNotFound),
              HasSubstr("train first"));
  Estimator estimator = make();
  estimator.warm_start({.from = from()});
  const auto model = load_exported_model(estimator.export_model(base, four_words), {.threads = 1, .backend = "reference"});
  EXPECT_EQ(model->global_step(), 0);
  const auto expected = estimator.predict(four_words, {.keys = {"logits"}, .yield_single_examples = false})->next();
  const Tensor got = *model->predict({{"", Tensor::of<int64_t>({4}, {3, 1, 4, 1})}}).find("logits");
  EXPECT_EQ(floats(got), floats(*expected->find("logits")));
  EXPECT_EQ(place_.log.count('I', "export: no checkpoint, so the warm-started model is exported"), 1);
}

/// A recurrent layer may have such a kernel, whose values depend on its shape.
TEST_F(WarmStartTest, OrthogonalVariablesAreInitializedWithoutACheckpoint) {
  const ModelFn model = [](const Features& features, const Labels&, Mode mode, const Params&, const RunConfig&) {
    EstimatorSpec spec;
    spec.mode = mode;
    spec.predictions = {{"y", nn::dense(features.single(), {.units = 3, .kernel_initializer = nn::orthogonal()})}};
    return spec;
  };
  const auto input = [] { return Dataset::from_tensor_slices(Tensor::of<float>({1, 3}, {3, 0, 4})).batch(1); };
  const auto y = floats(*place_.estimator(model).predict(input)->next()->find("y"));
  EXPECT_NEAR(y[0] * y[0] + y[1] * y[1] + y[2] * y[2], 25, 1e-4);
}

}  // namespace
}  // namespace shoal::testing
