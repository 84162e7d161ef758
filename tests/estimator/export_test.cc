// SPDX-License-Identifier: Apache-2.0
// Estimator::export_model and load_exported_model (CONTRACT EST-13).
#include "shoal/estimator/exported_model.h"

#include <set>
#include <thread>

#include "exported_classifier.h"
#include "model/export_format.h"
#include "shoal/nn/flatten.h"

namespace shoal::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Export : ExportedClassifier {
  const RuntimeOptions runtime = kReference;
  /// Changes an export into one of a version without checksums, so that tests can change its files.
  static void take_checksums_away(const std::string& folder) {
    ExportDescription description = value_or_raise(decode_export(read_file(folder + "/export.json")));
    description.files.reset();
    write_file(folder + "/export.json", encode_export(description));
  }
};

TEST_F(Export, GivesThePredictionsOfPredictBitForBit) {
  const std::string folder = write();
  EXPECT_THAT(folder.substr(base.size()), ::testing::MatchesRegex("/[0-9]{10}"));
  const auto model = load_exported_model(folder, runtime);
  EXPECT_EQ(model->global_step(), 7);
  ASSERT_EQ(model->inputs().size(), 1u);
  EXPECT_EQ(model->inputs()[0].name, "x");
  EXPECT_EQ(model->inputs()[0].dtype, DType::kFloat32);
  EXPECT_THAT(model->inputs()[0].shape, ElementsAre(-1, 2));
  std::vector<std::string> outputs;
  for (const auto& output : model->outputs()) outputs.push_back(output.name);
  EXPECT_THAT(outputs, ::testing::UnorderedElementsAre("logits", "probabilities", "class_ids", "all_class_ids", "classes",
                                                       "all_classes"));
  // Batches of other sizes than the serving input's, several times.
  for (const int size : {6, 1, 6, 4}) {
    const auto expected = estimator
                              .predict([size] { return Dataset::from_tensor_slices(features(size)).batch(size); },
                                       {.yield_single_examples = false})
                              ->next();
    const auto got = model->predict(features(size));
    EXPECT_EQ(bits(got), bits(*expected));
    EXPECT_NE(got.find("classes"), nullptr);
    EXPECT_EQ(got.find("classes")->dtype(), DType::kString);
  }
}

TEST_F(Export, IsCalledBySignature) {
  const auto model = load_exported_model(write(), runtime);
  std::vector<std::string> names;
  for (const auto& signature : model->signatures()) names.push_back(signature.name);
  EXPECT_THAT(names, ElementsAre("serving_default", "classification", "predict"));
  const auto all = model->predict(features(3));
  const auto served = model->predict(features(3), "serving_default");
  ASSERT_EQ(served.size(), 2u);
  EXPECT_EQ(bits(*served.find("scores")), bits(*all.find("probabilities")));
  EXPECT_EQ(bits(*served.find("classes")), bits(*all.find("all_classes")));
  EXPECT_EQ(bits(model->predict(features(3), "predict")), bits(all));
  EXPECT_THAT(refusal([&] { model->predict(features(3), "rank"); }),
              HasSubstr("no signature \"rank\"; there are: serving_default, classification, predict"));
}

TEST_F(Export, WithoutSignaturesHasOneOverAllPredictions) {
  const std::string folder = write();
  take_checksums_away(folder);
  const std::string description = read_file(folder + "/export.json");
  const size_t at = description.find(",\n  \"signatures\"");
  ASSERT_NE(at, std::string::npos);
  write_file(folder + "/export.json", description.substr(0, at) + "\n}\n");  // The form of older versions.
  const auto model = load_exported_model(folder, runtime);
  ASSERT_EQ(model->signatures().size(), 1u);
  EXPECT_EQ(model->signatures()[0].name, "serving_default");
  EXPECT_EQ(bits(model->predict(features(2), "serving_default")), bits(model->predict(features(2))));
}

TEST_F(Export, RefusesSignaturesThatDoNotFit) {
  const auto refused = [&](std::vector<nn::ExportSignature> signatures) {
    const auto model_fn = [signatures](const Features& given, const Labels& labels, Mode mode, const Params& params,
                                       const RunConfig& config) {
      EstimatorSpec spec = classifier(given, labels, mode, params, config);
      spec.export_outputs = signatures;
      return spec;
    };
    return refusal([&] { place.estimator(model_fn, {}, {{"text", true}}).export_model(base, serving); });
  };
  EXPECT_THAT(refused({{"a", {{"x", "logits"}}}, {"b", {{"x", "logits"}}}}),
              HasSubstr("of 2 signatures none is called serving_default"));
  EXPECT_THAT(refused({{"a", {{"x", "odds"}}}}),
              HasSubstr("signature \"a\": output \"x\" is prediction \"odds\", which is not there; there are: logits, "));
  EXPECT_THAT(refused({{"a", {}}}), HasSubstr("signature \"a\": it has no outputs"));
  EXPECT_THAT(refused({{"", {{"x", "logits"}}}}), HasSubstr("a signature has no name"));
  EXPECT_THAT(refused({{"a", {{"x", "logits"}}}, {"a", {{"x", "logits"}}}}), HasSubstr("signature \"a\" is there twice"));
  EXPECT_THAT(refused({{"a", {{"x", "logits"}, {"x", "classes"}}}}), HasSubstr("two outputs have the name \"x\""));
  EXPECT_EQ(std::filesystem::exists(base), false);
}

TEST_F(Export, OfANamedCheckpoint) {
  const auto model = load_exported_model(write({.checkpoint = place.model_dir() + "/model.ckpt-5"}), runtime);
  EXPECT_EQ(model->global_step(), 5);
  const auto expected = estimator
                            .predict([] { return Dataset::from_tensor_slices(features(3)).batch(3); },
                                     {.checkpoint = place.model_dir() + "/model.ckpt-5", .yield_single_examples = false})
                            ->next();
  EXPECT_EQ(bits(model->predict(features(3))), bits(*expected));
}

TEST_F(Export, OutlivesTheFolderItWasTrainedIn) {
  const std::string folder = write();
  const auto before = bits(load_exported_model(folder, runtime)->predict(features(2)));
  std::filesystem::remove_all(place.model_dir());
  std::filesystem::rename(folder, place.folder / "moved");
  EXPECT_EQ(bits(load_exported_model(place.folder / "moved", runtime)->predict(features(2))), before);
}

TEST_F(Export, LeavesOutTheOptimizer) {
  const std::string folder = write();
  std::vector<std::string> names;
  const auto storage = make_file_storage();
  const auto prefix = value_or_raise(checkpoint::latest(*storage, folder + "/variables"));
  for (const auto& [name, value] : tensors(*prefix)) names.push_back(name);
  EXPECT_THAT(names, ElementsAre("dense/bias", "dense/kernel", "dense_1/bias", "dense_1/kernel"));
}

TEST_F(Export, ALoneTensorHasNoName) {
  Place other;
  Estimator lone = other.estimator([](const Features& f, const Labels& l, Mode mode, const Params& p, const RunConfig& c) {
    EstimatorSpec spec = counting_model(f, l, mode, p, c);
    spec.predictions = {{"", spec.predictions[0].second}};
    return spec;
  });
  lone.train(endless, {.steps = 1});
  const auto model = load_exported_model(lone.export_model(base, endless), runtime);
  EXPECT_EQ(model->inputs()[0].name, "");
  EXPECT_EQ(model->outputs()[0].name, "");
  EXPECT_THAT(floats(model->predict(Tensor::of<float>({2}, {1, 2})).single()), ElementsAre(2, 4));
}

TEST_F(Export, CopiesAssets) {
  write_file(place.folder / "words.txt", "low\nhigh\n");
  const std::string folder = write({.assets = {{"vocabulary/words.txt", place.folder / "words.txt"}}});
  EXPECT_EQ(read_file(folder + "/assets/vocabulary/words.txt"), "low\nhigh\n");
  for (const char* outside : {"../x", "/x", "a/../../x", ""}) {
    EXPECT_THAT(refusal([&] {
                  write({.assets = {{outside, place.folder / "words.txt"}}});
                }),
                HasSubstr("inside the export"));
  }
  refusal([&] { write({.assets = {{"x", place.folder / "missing"}}}); }, ErrorKind::kNotFound);
}

TEST_F(Export, TwoThatRaceForANameBothGetOne) {
  std::vector<std::string> folders[2];
  std::vector<std::thread> processes;
  for (auto& own : folders) {
    processes.emplace_back([&] {
      for (int i = 0; i < 2; ++i) own.push_back(write());
    });
  }
  for (std::thread& process : processes) process.join();
  std::set<std::string> names;
  for (const auto& own : folders) {
    for (const std::string& folder : own) {
      EXPECT_TRUE(names.insert(folder).second) << folder;
      EXPECT_EQ(load_exported_model(folder, runtime)->global_step(), 7);
    }
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(base), {}), 4);
}

TEST_F(Export, AFailureLeavesNothingBehind) {
  refusal([&] { write({.assets = {{"x", place.folder / "missing"}}}); }, ErrorKind::kNotFound);
  EXPECT_TRUE(!std::filesystem::exists(base) || std::filesystem::is_empty(base));
}

TEST_F(Export, NeedsACheckpointAndABatch) {
  Place empty;
  EXPECT_THAT(refusal([&] { (void)empty.estimator(classifier).export_model(base, serving); }, ErrorKind::kNotFound),
              HasSubstr("no checkpoint"));
  EXPECT_THAT(refusal([&] { (void)estimator.export_model(base, [] { return numbered().take(0).batch(1); }); }),
              HasSubstr("no batch"));
  refusal([&] { (void)estimator.export_model(base, nullptr); }, ErrorKind::kTypeMismatch);
}

TEST_F(Export, RefusesFeaturesThatDoNotFit) {
  const auto model = load_exported_model(write(), runtime);
  EXPECT_THAT(refusal([&] { model->predict({{"y", Tensor::zeros(DType::kFloat32, {1, 2})}}); }), HasSubstr("x"));
  EXPECT_THAT(refusal([&] { model->predict({{"x", Tensor::zeros(DType::kFloat32, {1, 3})}}); }), HasSubstr("[1, 3]"));
  EXPECT_THAT(refusal([&] { model->predict({{"x", Tensor::zeros(DType::kInt64, {1, 2})}}); }), HasSubstr("int64"));
  EXPECT_THAT(
      refusal([&] {
        model->predict({{"x", Tensor::zeros(DType::kFloat32, {2})}});
      }),
      HasSubstr("x is float32 [2]; the model was built for float32 [batch, 2]; a single example has the shape [1, 2]"));
  EXPECT_THAT(refusal([&] { model->predict({}); }), HasSubstr("features"));
  EXPECT_THAT(
      refusal([&] {
        model->predict({{"x", Tensor::zeros(DType::kFloat32, {1, 2})}, {"z", Tensor::zeros(DType::kFloat32, {1, 2})}});
      }),
      HasSubstr("z"));
  EXPECT_EQ(model->predict(features(2)).size(), 6u);  // It still works.
}

// Without checkpoints.

/// Trains the classifier of ExportedClassifier with checkpoints off.
struct ExportWithoutCheckpoints : ExportedClassifier {
  Place other;
  Estimator without = other.estimator(classifier, {.save_checkpoints_secs = 0}, {{"text", true}});
  const InputFn training = [] { return named().repeat().batch(4); };
  std::unique_ptr<ExportedModel> exported(const Estimator& from, ExportOptions options = {}) {
    return load_exported_model(from.export_model(base, serving, std::move(options)), kReference);
  }
};

TEST_F(ExportWithoutCheckpoints, HasTheWeightsJustTrained) {
  without.train(training, {.steps = 7});
  EXPECT_FALSE(without.latest_checkpoint());
  const std::string folder = without.export_model(base, serving);
  const auto model = load_exported_model(folder, kReference);
  EXPECT_EQ(model->global_step(), 7);
  EXPECT_EQ(bits(model->predict(features(6))), bits(load_exported_model(write(), kReference)->predict(features(6))));
  EXPECT_EQ(other.log.count('I', "the weights that training has left in memory, of global step 7"), 1);
  // The export states the meaning and the run, as others do.
  const ExportDescription description = value_or_raise(decode_export(read_file(folder + "/export.json")));
  EXPECT_EQ(description.meaning, value_or_raise(decode_export(read_file(write() + "/export.json"))).meaning);
  EXPECT_THAT(description.run, HasSubstr("\"seed\":7"));
}

TEST_F(ExportWithoutCheckpoints, GoesOnFromACheckpointThatIsThere) {
  Estimator more = estimator.with_config(place.config({.save_checkpoints_secs = 0}));
  more.train(training, {.steps = 3});
  estimator.train(training, {.steps = 3});
  EXPECT_EQ(exported(more)->global_step(), 10);
  EXPECT_EQ(bits(exported(more)->predict(features(6))), bits(exported(estimator)->predict(features(6))));
  EXPECT_EQ(exported(more, {.checkpoint = place.model_dir() + "/model.ckpt-7"})->global_step(), 7);
}

TEST_F(ExportWithoutCheckpoints, ACheckpointThatIsWrittenLaterIsNewer) {
  without.train(training, {.steps = 7});
  const Estimator copy = without;
  Estimator saving = without.with_config(other.config({.save_checkpoints_steps = 5}));
  saving.train(training, {.steps = 2});  // This training run begins at step 0, since the other one left no checkpoint.
  EXPECT_EQ(exported(saving)->global_step(), 2);
  EXPECT_EQ(exported(copy)->global_step(), 7);
}

TEST_F(ExportWithoutCheckpoints, NeedsATraining) {
  EXPECT_THAT(refusal([&] { exported(without); }, ErrorKind::kNotFound), HasSubstr("no checkpoint"));
  without.train(training, {.steps = 1});
  Place elsewhere;
  EXPECT_THAT(refusal(
                  [&] {
                    exported(elsewhere.estimator(classifier, {.save_checkpoints_secs = 0}, {{"text", true}}));
                  },
                  ErrorKind::kNotFound),
              HasSubstr("no checkpoint"));
}

TEST_F(ExportWithoutCheckpoints, RefusesWordsOfAnotherMeaning) {
  bool turned = false;
  const auto model_fn = [&turned](const Features& given, const Labels& labels, Mode mode, const Params&, const RunConfig&) {
    const std::vector<std::string> words =
        turned ? std::vector<std::string>{"high", "middle", "low"} : std::vector<std::string>{"low", "middle", "high"};
    return nn::multi_class_head({.n_classes = 3, .label_vocabulary = words})
        ->build({.mode = mode,
                 .labels = labels,
                 .logits = nn::dense(given["x"], {.units = 3}),
                 .optimizer = nn::sgd({.learning_rate = 0.1})});
  };
  Place own;
  Estimator trained = own.estimator(model_fn, {.save_checkpoints_secs = 0});
  trained.train(training, {.steps = 2});
  exported(trained);
  turned = true;
  EXPECT_THAT(refusal([&] { exported(trained); }, ErrorKind::kFailedPrecondition),
              HasSubstr("the training of this process"));
}

// Damage.

/// Damage that checksums do not find: the damaged text has its own checksum, or the export is of a version without
/// checksums.
TEST_F(Export, DamagedFilesAreRefusedByName) {
  const std::string folder = write();
  take_checksums_away(folder);
  EXPECT_THAT(refusal([&] { load_exported_model(place.folder / "nowhere", runtime); }, ErrorKind::kNotFound),
              HasSubstr("nowhere"));
  const auto with = [&](const std::string& file, const std::string& contents, ErrorKind kind = ErrorKind::kDataLoss) {
    const std::string path = folder + "/" + file, before = read_file(path);
    write_file(path, contents);
    const std::string message = refusal([&] { load_exported_model(folder, runtime); }, kind);
    write_file(path, before);
    return message;
  };
  const std::string description = read_file(folder + "/export.json");
  const std::string graph = read_file(folder + "/graph.json");
  const auto changed = [](std::string text, const std::string& from, const std::string& to) {
    EXPECT_NE(text.find(from), std::string::npos) << from;
    return text.replace(text.find(from), from.size(), to);
  };
  for (const std::string& broken :
       {std::string(), std::string("{"), std::string("[]"), std::string("null"),
        description.substr(0, description.size() / 2), changed(description, "\"x\"", "7"),
        changed(description, "\"float32\"", "\"float99\""), changed(description, "\"float32\"", "\"string\""),
        changed(description, "\"node\": \"", "\"node\": \"not-"), changed(description, "\"output\": 0", "\"output\": 77"),
        changed(description, "\"output\": 0", "\"output\": -1"),
        // Numbers that a conversion would cut, and values that should be lists.
        changed(description, "\"output\": 0", "\"output\": 4294967296"),
        changed(description, "\"output\": 0", "\"output\": 0.5"),
        changed(description, "\"output\": 0", "\"output\": 1e300"),
        changed(description, "\"global_step\": ", "\"global_step\": 1e300, \"old\": "), changed(description, "-1", "-7"),
        changed(description, "-1", "18446744073709551615"), changed(description, "-1", "1, 1, 1, 1, 1, 1, 1, 1, 1"),
        changed(description, "\"texts\": ", "\"texts\": null, \"old\": "),
        changed(description, "\"signatures\": ", "\"signatures\": 7, \"old\": "),
        changed(description, "\"prediction\": \"", "\"prediction\": \"not-"),
        changed(description, "\"serving_default\"", "\"\"")}) {
    EXPECT_THAT(with("export.json", broken), AllOf(HasSubstr(folder))) << broken;
  }
  const std::string nested = std::string(500000, '[') + std::string(500000, ']');
  EXPECT_THAT(with("export.json",
                   changed(description, "\"outputs\": ", "\"a\": " + nested + ", \"b\": 1, \"outputs\": 1, \"old\": ")),
              HasSubstr("\"outputs\" must be a list"));
  EXPECT_THAT(with("export.json", changed(description, "\"format\": 1", "\"format\": 2"), ErrorKind::kFailedPrecondition),
              HasSubstr("format 2"));
  for (const std::string& broken : {std::string(), std::string("{}"), graph.substr(0, graph.size() / 2)}) {
    EXPECT_THAT(with("graph.json", broken), HasSubstr("graph.json")) << broken;
  }
  std::filesystem::rename(folder + "/graph.json", folder + "/aside");
  EXPECT_THAT(refusal([&] { load_exported_model(folder, runtime); }, ErrorKind::kDataLoss), HasSubstr("graph.json"));
  std::filesystem::rename(folder + "/aside", folder + "/graph.json");
  for (const auto& entry : std::filesystem::directory_iterator(folder + "/variables")) {
    const std::string file = "variables/" + entry.path().filename().string();
    std::string bytes = read_file(folder + "/" + file);
    if (!file.ends_with("/checkpoint")) {  // The file `checkpoint` is text for people to edit.
      std::string flipped = bytes;
      for (size_t i = 0; i < bytes.size(); i += 4) flipped[i] ^= 4;
      EXPECT_THAT(with(file, flipped), HasSubstr("variables")) << file;
    }
    EXPECT_THAT(with(file, bytes.substr(0, bytes.size() / 2)), HasSubstr("variables")) << file;
  }
  std::filesystem::remove_all(folder + "/variables");
  EXPECT_THAT(refusal([&] { load_exported_model(folder, runtime); }, ErrorKind::kDataLoss), HasSubstr(folder));
}

TEST_F(Export, AGraphOfOtherVariablesIsRefused) {
  const std::string folder = write();
  Place other;
  Estimator wider =
      other.estimator([](const Features& f, const Labels& l, Mode mode, const Params&, const RunConfig&) -> EstimatorSpec {
        return nn::multi_class_head({.n_classes = 3})
            ->build({.mode = mode,
                     .labels = l,
                     .logits = nn::dense(f["x"], {.units = 3, .name = "wider"}),
                     .optimizer = nn::sgd()});
      });
  wider.train([] { return numbered().batch(2); }, {.steps = 1});
  take_checksums_away(folder);
  const std::string wrong = wider.export_model(place.folder / "other", [] { return numbered().batch(2); });
  std::filesystem::remove_all(folder + "/variables");
  std::filesystem::copy(wrong + "/variables", folder + "/variables", std::filesystem::copy_options::recursive);
  EXPECT_THAT(refusal([&] { load_exported_model(folder, runtime); }), HasSubstr("dense/kernel"));
}

}  // namespace
}  // namespace shoal::testing
