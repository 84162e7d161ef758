// SPDX-License-Identifier: Apache-2.0
// Weights are of use only with the meaning that they were trained with: words, classes, columns (CONTRACT RU-2).
#include "shoal/graph/meaning.h"
#include "fixture.h"
#include "model/export_format.h"
#include "model/rules.h"
#include "shoal/checkpoint/manifest.h"
#include "shoal/columns/statistics.h"
#include "shoal/estimator/exported_model.h"
#include "shoal/estimator/in_memory_evaluator.h"
#include "shoal/estimator/warm_start.h"
#include "wood_model.h"

namespace shoal::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const WoodModel kTurned{.words = {"yew", "oak", "fir", "elm"}};

class ChangedModel : public ::testing::Test {
 protected:
  /// Trains 20 further steps.
  void train(const WoodModel& model, RunConfigOptions options = {}) {
    place_.estimator(model, std::move(options)).train([] { return all_woods().repeat(); }, {.steps = 20});
  }
  checkpoint::SaveInfo newest() {
    const std::string name = retained(place_.model_dir()).back();
    return value_or_raise(checkpoint::decode_manifest(read_file(place_.folder / ("m/" + name + ".index")))).info;
  }
  /// Changes the description in the newest checkpoint.
  void change_newest(const std::function<void(checkpoint::SaveInfo&)>& change) {
    const std::string path = place_.folder / ("m/" + retained(place_.model_dir()).back() + ".index");
    checkpoint::Manifest manifest = value_or_raise(checkpoint::decode_manifest(read_file(path)));
    change(manifest.info);
    write_file(path, checkpoint::encode_manifest(manifest));
  }
  template <class Call>
  std::string refused(Call call) {
    return refusal(std::move(call), ErrorKind::kFailedPrecondition);
  }
  std::string refused_by_all_readers(const WoodModel& model) {
    const Estimator changed = place_.estimator(model);
    const std::string sentence = refused([&] { changed.evaluate(all_woods); });
    EXPECT_EQ(refused([&] { changed.predict(all_woods); }), sentence);
    EXPECT_EQ(refused([&] { changed.export_model(place_.folder / "e", all_woods); }), sentence);
    EXPECT_FALSE(std::filesystem::exists(place_.folder / "e"));
    return sentence;
  }

  Place place_;
};

/// The tutorial's program takes its words from the table, the most frequent first.
TEST_F(ChangedModel, ATableWithOtherWordsIsRefused) {
  const auto program = [&](const Words& rows) {
    const Dataset table = woods(rows);
    WoodModel model;
    model.words = columns::statistics_of(table).text("wood").vocabulary();
    Estimator estimator = place_.estimator(model);
    train_and_evaluate(estimator, {.input_fn = table.repeat().batch(3), .max_steps = 40},
                       {.input_fn = table.batch(3), .start_delay_secs = 0});
  };
  program({"oak", "oak", "oak", "elm", "elm", "fir"});
  const auto before = tensors(place_.folder / "m/model.ckpt-40");
  const std::string graph = read_file(place_.folder / "m/graph.json");
  const std::string sentence = refused([&] {
    const Dataset table = woods({"ash", "ash", "ash", "elm", "elm", "oak"});
    WoodModel model;
    model.words = columns::statistics_of(table).text("wood").vocabulary();
    place_.estimator(model).train(table.repeat().batch(3), {.max_steps = 80});
  });
  EXPECT_THAT(sentence,
              AllOf(HasSubstr("m/model.ckpt-40: "),
                    HasSubstr("feature \"wood\": vocabulary (3 words: oak, elm, fir) "
                              "before, vocabulary (3 words: ash, elm, oak) now"),
                    HasSubstr("number 0 of the words was \"oak\" and is \"ash\""), HasSubstr("--accept-changed-model")));
  EXPECT_EQ(retained(place_.model_dir()).back(), "model.ckpt-40");
  EXPECT_EQ(tensors(place_.folder / "m/model.ckpt-40"), before);
  EXPECT_EQ(read_file(place_.folder / "m/graph.json"), graph);
  program({"oak", "oak", "oak", "elm", "elm", "fir"});  // With its own table nothing is left to do.
}

TEST_F(ChangedModel, EachReaderRefusesOtherWords) {
  train({});
  EXPECT_THAT(refused_by_all_readers(kTurned), HasSubstr("number 0 of the words was \"elm\" and is \"yew\""));
  EXPECT_THAT(refused([&] { train(kTurned); }), HasSubstr("number 0 of the words was \"elm\" and is \"yew\""));
  EXPECT_EQ(place_.estimator(WoodModel{}).evaluate(all_woods).at("accuracy"), 1);
}

TEST_F(ChangedModel, EachReaderRefusesOtherClasses) {
  train({});
  const WoodModel turned{.classes = {"yes", "no"}};
  const std::string labels = "the labels: vocabulary (2 words: no, yes; missing none) before";
  const std::string head = "the head: binary_head (2 classes: no, yes; logits 1) before";
  const Estimator changed = place_.estimator(turned);
  EXPECT_THAT(refused([&] { train(turned); }), AllOf(HasSubstr(labels), HasSubstr("also changed: the head")));
  EXPECT_THAT(refused([&] { changed.evaluate(all_woods); }), HasSubstr(labels));
  EXPECT_THAT(refused([&] { changed.predict(all_woods); }), HasSubstr(head));
  EXPECT_THAT(refused([&] { changed.export_model(place_.folder / "e", all_woods); }), HasSubstr(head));
}

/// An exporter builds the model for predictions, which the evaluation before it does not.
TEST_F(ChangedModel, AnExporterRefusesOtherWords) {
  const auto model = [](const Features& features, const Labels& labels, Mode mode) {
    return (mode == Mode::kPredict ? kTurned : WoodModel{})(features, labels, mode);
  };
  Estimator estimator = place_.estimator(model);
  const TrainSpec train{.input_fn = all_woods().repeat(), .max_steps = 5};
  const EvalSpec eval{.input_fn = all_woods, .start_delay_secs = 0, .exporters = {latest_exporter("latest")}};
  EXPECT_THAT(refused([&] { train_and_evaluate(estimator, train, eval); }),
              HasSubstr("number 0 of the words was \"elm\" and is \"yew\""));
}

TEST_F(ChangedModel, AnEvaluationInMemoryRefusesOtherWords) {
  const auto evaluator = in_memory_evaluator(place_.estimator(kTurned), all_woods, {});
  EXPECT_THAT(
      refused([&] { place_.estimator(WoodModel{}).train(all_woods, {.steps = 1, .hooks = {evaluator}}); }),
      HasSubstr("the training of this process: its weights belong to a model with another meaning: feature \"wood\""));
}

TEST_F(ChangedModel, AnOrderOfColumnsIsNoChange) {
  train({});
  const Estimator turned = place_.estimator(WoodModel{.columns_turned = true});
  EXPECT_EQ(turned.evaluate(all_woods).at("accuracy"), 1);
  EXPECT_NE(turned.predict(all_woods)->next(), std::nullopt);
  turned.export_model(place_.folder / "e", all_woods);
  train({.columns_turned = true});
  EXPECT_EQ(place_.log.count('W', "changed since"), 0);
}

TEST_F(ChangedModel, IsAWarningWhereItIsAccepted) {
  train({});
  const std::string before = newest().meaning;
  const RunConfigOptions accept{.accept_changed_model = true};
  const Estimator turned = place_.estimator(kTurned, accept);
  EXPECT_LT(turned.evaluate(all_woods).at("accuracy"), 1);
  EXPECT_EQ(
      place_.log.count('W', "accept_changed_model allows: feature \"wood\": vocabulary (4 words: elm, fir, oak, yew)"), 1);
  const std::string exported = turned.export_model(place_.folder / "e", all_woods);
  const Meaning meaning =
      value_or_raise(Meaning::decode(value_or_raise(decode_export(read_file(exported + "/export.json"))).meaning));
  EXPECT_EQ(meaning.facts().at("features/wood")[0].lists.at("words").items, kTurned.words);
  EXPECT_TRUE(meaning.facts().contains("labels"));
  place_.log.clear();
  train(kTurned, accept);
  EXPECT_EQ(place_.log.count('W', "accept_changed_model allows: "), 1);
  EXPECT_NE(newest().meaning, before);
  place_.log.clear();
  train(kTurned);  // The folder now has this meaning.
  EXPECT_EQ(place_.log.count('W', "accept"), 0);
  EXPECT_THAT(refused([&] { train({}); }), HasSubstr("number 0 of the words was \"yew\" and is \"elm\""));
}

TEST_F(ChangedModel, CheckpointsOfVersionsBeforeAreAdopted) {
  train({});
  change_newest([](checkpoint::SaveInfo& info) { info.meaning = info.rules = ""; });
  place_.estimator(kTurned).evaluate(all_woods);  // Nobody can know.
  train({.learning_rate = 0.25});
  EXPECT_EQ(place_.log.count('W', "changed since"), 0);
  EXPECT_THAT(refused_by_all_readers(kTurned), HasSubstr("feature \"wood\""));
}

TEST_F(ChangedModel, ATextThatIsNoMeaningIsDamage) {
  train({});
  change_newest([](checkpoint::SaveInfo& info) { info.meaning = "{}"; });
  EXPECT_THAT(refusal([&] { place_.estimator(WoodModel{}).evaluate(all_woods); }, ErrorKind::kDataLoss),
              HasSubstr("model.ckpt-20: the meaning of the model: \"version\" is missing"));
  EXPECT_THAT(refusal([&] { train({}); }, ErrorKind::kDataLoss), HasSubstr("\"version\" is missing"));
}

TEST_F(ChangedModel, RatesAndMeansAreTold) {
  train({});
  train({});
  EXPECT_EQ(place_.log.count('W', "changed since"), 0);
  train({.learning_rate = 0.25});
  EXPECT_THAT(place_.log.all('W'),
              ::testing::Contains(AllOf(HasSubstr("changed since checkpoint "),
                                        HasSubstr("/m/model.ckpt-40 was written: learning_rate (0.5 before, 0.25 now)"))));
  place_.log.clear();
  train({.learning_rate = 0.25, .mean_age = 11});
  EXPECT_THAT(place_.log.all('W'), ::testing::Contains(HasSubstr("/m/model.ckpt-60 was written: constants of linear")));
  place_.log.clear();
  place_.estimator(WoodModel{.mean_age = 12}).evaluate(all_woods);
  EXPECT_EQ(place_.log.count('W', "changed since"), 0);
}

TEST_F(ChangedModel, LayersOfOtherNamesAreTold) {
  const auto model = [](const std::string& layer) {
    return [layer](const Features& features, Mode mode) {
      const auto scope = features.single().graph().scope(layer);
      EstimatorSpec spec;
      spec.mode = mode;
      spec.loss = ops::reduce_mean(features.single());
      if (mode == Mode::kTrain) spec.train_op = nn::train_op({});
      return spec;
    };
  };
  place_.estimator(model("p")).train(losses({1}), {.steps = 1});
  place_.estimator(model("q")).train(losses({1}), {.steps = 1});
  EXPECT_THAT(
      place_.log.all('W'),
      ::testing::Contains(::testing::EndsWith("/m/model.ckpt-1 was written: layers that are gone: p; new layers: q")));
  EXPECT_EQ(rules_difference({{"constants of model_fn", "#1"}, {"constants of p", "#1"}, {"update rules", "#1"}},
                             {{"constants of dense", "#2"}, {"update rules", "#2"}}),
            "layers that are gone: p; new layers: dense; constants of model_fn, update rules");
}

TEST_F(ChangedModel, ExportsSayWhatTheyMean) {
  train({});
  const std::string exported = place_.estimator(WoodModel{}).export_model(place_.folder / "e", all_woods);
  const std::string meaning = value_or_raise(decode_export(read_file(exported + "/export.json"))).meaning;
  EXPECT_EQ(meaning, newest().meaning);
  const std::string index = read_file(exported + "/variables/model.ckpt-20.index");
  EXPECT_EQ(value_or_raise(checkpoint::decode_manifest(index)).info.meaning, meaning);
  EXPECT_EQ(load_exported_model(exported)->global_step(), 20);
}

TEST_F(ChangedModel, AWarmStartTellsOfOtherWords) {
  train({});
  Place other;
  const auto begin = [&](const WarmStart& start, const WoodModel& model) {
    other.log.clear();
    Place fresh;
    Estimator estimator = Estimator(model, other.config({.model_dir = fresh.model_dir()}));
    estimator.warm_start(start).train(all_woods, {.steps = 1});
    return other.log.count('W', "warm start from " + start.from + ": the model there has another meaning");
  };
  const WarmStart start{.from = place_.model_dir()};
  EXPECT_EQ(begin(start, {}), 0);
  EXPECT_EQ(begin(start, kTurned), 1);
  const std::string table = "linear/wood/weights";
  EXPECT_EQ(
      begin({.from = start.from, .vocabularies = {{table, {.old_tokens = WoodModel{}.words, .new_tokens = kTurned.words}}}},
            kTurned),
      0);
  EXPECT_EQ(begin({.from = start.from, .variables = table}, {.classes = {"yes", "no"}}), 0);
  EXPECT_EQ(begin(start, {.classes = {"yes", "no"}}), 1);
}

/// A model function without a head names its ids itself.
TEST_F(ChangedModel, NamesOfAModelFunctionCount) {
  const auto model = [](Words names) {
    const auto list = std::make_shared<const Vocabulary>(value_or_raise(Vocabulary::make(std::move(names))));
    return [list](const Features& features, const Labels&, Mode mode) {
      EstimatorSpec spec = counting_model(features, {}, mode, {}, RunConfig());
      spec.predictions.emplace_back("ids", ops::cast(features.single(), DType::kInt64));
      spec.text_predictions = {{"names", "ids", list}};
      return spec;
    };
  };
  place_.estimator(model({"a", "b"})).train(losses({1, 1}), {.steps = 1});
  EXPECT_THAT(refused([&] {
                place_.estimator(model({"b", "a"})).predict(losses({1}));
              }),
              HasSubstr("prediction \"names\": names (2 names: a, b) before"));
}

}  // namespace
}  // namespace shoal::testing
