// SPDX-License-Identifier: Apache-2.0
// Exports with a file in another form: their files, obstacles that are named before training, and the proof that the file
// computes Shoal's predictions.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "../base/file_size_limit.h"
#include "exported_classifier.h"
#include "model/export_format.h"
#include "shoal/estimator/eval_listener.h"
#include "shoal/estimator/export_form.h"
#include "shoal/testing/forwarding_storage.h"

namespace shoal::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Bytes of a file, read from memory.
class BytesFile final : public ReadableFile {
 public:
  explicit BytesFile(std::string bytes) : bytes_(std::move(bytes)) {}
  uint64_t size() const override { return bytes_.size(); }
  Result<void> read_at(uint64_t offset, std::span<std::byte> out) const override {
    if (offset + out.size() > bytes_.size()) return data_loss("the file ends");
    std::memcpy(out.data(), bytes_.data() + offset, out.size());
    return {};
  }

 private:
  std::string bytes_;
};

/// A disk that changes one place in files of one kind, as if the converter had made a mistake there.
class ChangingDisk final : public ForwardingStorage {
 public:
  using ForwardingStorage::ForwardingStorage;
  std::string from, to;             ///< The text to change, and its replacement. Empty: nothing is changed.
  std::string kind = "model.onnx";  ///< In which files.

  Result<std::unique_ptr<ReadableFile>> open(const std::string& path) override {
    if (from.empty() || !path.ends_with(kind)) return disk_->open(path);
    SHOAL_TRY(const auto file, disk_->open(path));
    std::string bytes(file->size(), '\0');
    SHOAL_TRY_VOID(file->read_at(0, std::as_writable_bytes(std::span(bytes))));
    size_t found = 0;
    for (size_t place = 0; (place = bytes.find(from, place)) != std::string::npos; place += to.size(), ++found)
      bytes.replace(place, from.size(), to);
    EXPECT_GT(found, 0u);
    return std::unique_ptr<ReadableFile>(std::make_unique<BytesFile>(std::move(bytes)));
  }
};

std::string bytes_of(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

struct OnnxExport : ExportedClassifier {
  const InputFn held_out = [] { return Dataset::from_tensor_slices(features(40)).batch(16); };

  nlohmann::json proof_in(const std::string& folder) { return nlohmann::json::parse(read_file(folder + "/proof.json")); }
};

TEST_F(OnnxExport, IsAnExportWithOneMoreFile) {
  const std::string folder = write({.format = ExportFormat::kOnnx});
  const ExportDescription description = value_or_raise(decode_export(read_file(folder + "/export.json")));
  std::vector<std::string> names;
  for (const ExportedFile& file : description.files.value()) names.push_back(file.name);
  EXPECT_THAT(names, ::testing::Contains("model.onnx"));
  EXPECT_THAT(names, ::testing::Not(::testing::Contains("proof.json")));
  EXPECT_EQ(bits(load_exported_model(folder, kReference)->predict(features(5))),
            bits(load_exported_model(write(), kReference)->predict(features(5))));
  // Writing the file later, from a plain export, gives the same bytes.
  EXPECT_THAT(write_onnx(write(), place.folder / "later.onnx"), ::testing::IsEmpty());
  EXPECT_EQ(read_file(place.folder / "later.onnx"), read_file(folder + "/model.onnx"));
}

TEST_F(OnnxExport, DamageToItIsDamageToTheExport) {
  const std::string folder = write({.format = ExportFormat::kOnnx});
  write_file(folder + "/model.onnx", "x");
  EXPECT_THAT(try_load_exported_model(folder, kReference).error().message(), HasSubstr("model.onnx"));
}

TEST_F(OnnxExport, ASignatureHasItsOutputsAlone) {
  const std::string folder = write();
  write_onnx(folder, place.folder / "scores.onnx", {.signature = "classification"});
  const std::string file = read_file(place.folder / "scores.onnx");
  EXPECT_THAT(file, AllOf(HasSubstr("scores"), HasSubstr("classes"), ::testing::Not(HasSubstr("all_class_ids"))));
  const auto refused = try_write_onnx(folder, place.folder / "none.onnx", {.signature = "translate"});
  EXPECT_THAT(refused.error().message(),
              AllOf(HasSubstr("\"translate\""), HasSubstr("serving_default, classification, predict")));
  EXPECT_FALSE(std::filesystem::exists(place.folder / "none.onnx"));
}

TEST_F(OnnxExport, FilesThatDoNotFitLeaveNothingBehind) {
  const std::string folder = write(), good = place.folder / "good", full = place.folder / "deep";
  const std::string onnx = place.folder / "model.onnx";
  write_cpp(folder, good, {.weights_apart = true});
  const uint64_t header = std::filesystem::file_size(good + "/model.h");
  ASSERT_GT(std::filesystem::file_size(good + "/model.cc"), header);
  for (const bool apart : {false, true}) {
    {
      const FileSizeLimit limit(header);
      EXPECT_FALSE(try_write_cpp(folder, full + "/er/c", {.weights_apart = apart}));
    }
    EXPECT_FALSE(std::filesystem::exists(full));
  }
  {
    const FileSizeLimit limit(100);
    EXPECT_FALSE(try_write_onnx(folder, onnx));
  }
  EXPECT_FALSE(std::filesystem::exists(onnx));
  // An error leaves the folder and the files that were there before.
  const std::string before = read_file(good + "/model.h");
  {
    const FileSizeLimit limit(header);
    EXPECT_FALSE(try_write_cpp(folder, good, {.name_space = "other"}));
  }
  EXPECT_EQ(read_file(good + "/model.h"), before);
  EXPECT_TRUE(try_write_cpp(folder, full + "/er/c"));
}

TEST_F(OnnxExport, ProofSaysWhatWasCompared) {
  const std::string folder = write({.format = ExportFormat::kOnnx, .proof = {.input = held_out, .examples = 30}});
  const nlohmann::json proof = proof_in(folder);
  EXPECT_EQ(proof.at("form"), "ONNX file");
  EXPECT_EQ(proof.at("examples"), 32);  // Two batches of 16.
  EXPECT_EQ(proof.at("tolerance"), 1e-5);
  EXPECT_LE(proof.at("outputs").at("logits").at("largest_difference").get<double>(), 1e-6);
  EXPECT_EQ(proof.at("outputs").at("classes").at("largest_difference"), 0);
  EXPECT_EQ(proof.at("outputs").size(), 6u);
  load_exported_model(folder, kReference);
}

TEST_F(OnnxExport, ProofWithTooFewExamplesComparesWhatThereIs) {
  const std::string folder = write({.format = ExportFormat::kOnnx, .proof = {.input = held_out, .examples = 1000}});
  EXPECT_EQ(proof_in(folder).at("examples"), 40);
}

TEST_F(OnnxExport, BadProofsAreRefused) {
  const auto error_of = [&](ExportOptions options) { return estimator.try_export_model(base, serving, options).error(); };
  EXPECT_THAT(error_of({.proof = {.input = held_out}}).message(), HasSubstr("there is no format to prove"));
  EXPECT_THAT(error_of({.format = ExportFormat::kOnnx, .proof = {.input = held_out, .tolerance = 0}}).message(),
              HasSubstr("tolerance must be greater than 0"));
  EXPECT_THAT(error_of({.format = ExportFormat::kOnnx, .proof = {.input = held_out, .examples = 0}}).message(),
              HasSubstr("examples must be greater than 0"));
  EXPECT_THAT(error_of({.format = ExportFormat::kOnnx,
                        .proof = {.input = [] { return Dataset::from_tensor_slices(features(0)).batch(2); }}})
                  .message(),
              HasSubstr("gave no batch"));
  EXPECT_THROW(latest_exporter("x", {.proof = {.input = held_out}}), Exception);
  EXPECT_FALSE(std::filesystem::exists(base) && !std::filesystem::is_empty(base));
}

/// A model with two inputs, two outputs and known weights.
EstimatorSpec known_weights(const Features& features, const Labels&, Mode mode, const Params&, const RunConfig&) {
  EstimatorSpec spec;
  spec.mode = mode;
  Graph& graph = features["x"].graph();
  const Value kernel =
      graph.variable("kernel", {2, 2}, {.initializer = {.kind = Initializer::Kind::kUniform, .a = 1, .b = 2}});
  const Value bias =
      graph.variable("bias", {2}, {.initializer = {.kind = Initializer::Kind::kConstant, .a = 0.75}, .trainable = false});
  const Value y = ops::dense(features["x"], kernel, bias);
  spec.predictions = {{"y", y}};
  spec.loss = ops::reduce_mean(ops::square(y));
  if (mode == Mode::kTrain) spec.train_op = nn::sgd({.learning_rate = 1e-3}).minimize(spec.loss);
  return spec;
}

/// In eight bits numbers differ more, so the share of correct classes decides.
TEST_F(OnnxExport, EightBitsAreProvedByTheirAccuracy) {
  const InputFn labelled = [] { return numbered().batch(3); };
  const auto export_with = [&](double accuracy_loss) {
    return estimator.try_export_model(
        base, serving, {.format = ExportFormat::kCppInt8, .proof = {.input = labelled, .accuracy_loss = accuracy_loss}});
  };
  const auto good = export_with(1);
  ASSERT_TRUE(good) << good.error().message();
  const nlohmann::json proof = proof_in(*good);
  EXPECT_EQ(proof.at("accuracy_loss_max"), 1);
  EXPECT_LE(proof.at("accuracy_loss").get<double>(), 0.5);
  EXPECT_FALSE(proof.contains("tolerance"));
  EXPECT_THAT(read_file(*good + "/model.cc"), HasSubstr("int8_t"));
  EXPECT_THAT(export_with(-1).error().message(), HasSubstr("accuracy_loss must be in [0, 1]"));
}

/// A regression has no classes, so its numbers decide.
TEST_F(OnnxExport, EightBitsWithoutClassesAreProvedByTheirNumbers) {
  const ModelFn model = [](const Features& inputs, Mode mode) {
    EstimatorSpec spec;
    spec.mode = mode;
    const Value y = nn::dense(inputs["x"], {.units = 1});
    spec.predictions = {{"y", y}};
    spec.loss = ops::reduce_mean(ops::square(y));
    if (mode == Mode::kTrain) spec.train_op = nn::sgd({.learning_rate = 1e-3}).minimize(spec.loss);
    return spec;
  };
  Estimator regression(model, place.config({.model_dir = place.folder / "regression"}));
  regression.train([] { return Dataset::from_tensor_slices(features(6)).batch(3); }, {.steps = 1});
  const auto export_with = [&](double tolerance) {
    return regression.try_export_model(
        base, held_out, {.format = ExportFormat::kCppInt8, .proof = {.input = held_out, .tolerance = tolerance}});
  };
  EXPECT_THAT(export_with(1e-7).error().message(),
              AllOf(HasSubstr("its C++ source disagrees"), HasSubstr("of 40 held-out")));
  const auto good = export_with(0.1);
  ASSERT_TRUE(good) << good.error().message();
  EXPECT_EQ(proof_in(*good).at("tolerance"), 0.1);
}

/// A machine without a compiler cannot prove C++, which is an error before training.
TEST_F(OnnxExport, AProofWithoutACompilerIsNamedBeforeTraining) {
  const char* const before = std::getenv("CXX");
  const std::string kept = before ? before : "";
  setenv("CXX", "/nonexistent/compiler", 1);
  const auto exporter = latest_exporter("c", {.format = ExportFormat::kCpp, .proof = {.input = held_out}});
  EXPECT_THAT(exporter->obstacles(estimator, serving), ElementsAre(HasSubstr("/nonexistent/compiler cannot be run")));
  const auto refused =
      estimator.try_export_model(base, serving, {.format = ExportFormat::kCpp, .proof = {.input = held_out}});
  EXPECT_THAT(refused.error().message(), HasSubstr("not published, since its C++ source cannot be proved"));
  before ? setenv("CXX", kept.c_str(), 1) : unsetenv("CXX");
}

TEST_F(OnnxExport, AProofOfCppCompilesInTheTemporaryFolderAndLeavesNothingThere) {
  const std::string folder = place.folder / "temporary", compiler = place.folder / "compiler";
  std::filesystem::create_directory(folder);
  const auto text_of = [](const char* name) {
    const char* const text = std::getenv(name);
    return std::string(text ? text : "");
  };
  const std::string cxx = text_of("CXX"), above = text_of("TMPDIR");
  write_file(compiler,
             "#!/bin/sh\necho \"$@\" > " + compiler + ".words\nexec " + (cxx.empty() ? "c++" : cxx) + " \"$@\"\n");
  std::filesystem::permissions(compiler, std::filesystem::perms::owner_all);
  setenv("CXX", compiler.c_str(), 1);
  setenv("TMPDIR", folder.c_str(), 1);
  const auto written =
      estimator.try_export_model(base, serving, {.format = ExportFormat::kCpp, .proof = {.input = held_out}});
  cxx.empty() ? unsetenv("CXX") : setenv("CXX", cxx.c_str(), 1);
  above.empty() ? unsetenv("TMPDIR") : setenv("TMPDIR", above.c_str(), 1);
  EXPECT_TRUE(written) << written.error().message();
  EXPECT_THAT(read_file(compiler + ".words"), HasSubstr(" " + folder + "/shoal-proof-"));
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST(ExamplesOf, AreTheRowsOfAllFeatures) {
  const auto examples = value_or_raise(
      examples_of({{"town", Tensor::of_strings({2}, {"Ulm", "Bonn"})}, {"x", Tensor::of<float>({2, 2}, {1, 2, 3, 4})}}));
  ASSERT_EQ(examples.examples.size(), 2u);
  EXPECT_EQ(examples.examples[1].at("town").strings()[0], "Bonn");
  EXPECT_EQ(examples.examples[1].at("x").as<float>()[0], 3);
  EXPECT_EQ(examples.examples[1].at("x").shape(), (Shape{1, 2}));
  EXPECT_THAT(
      examples_of({{"a", Tensor::of<float>({2}, {1, 2})}, {"b", Tensor::of<float>({3}, {1, 2, 3})}}).error().message(),
      AllOf(HasSubstr("feature \"b\" is [3]"), HasSubstr("others have 2 rows")));
  EXPECT_THAT(examples_of({{"a", Tensor::scalar<float>(1)}}).error().message(), HasSubstr("has no rows"));
}

struct PlantedError : ::testing::Test {
  Place place;
  std::shared_ptr<ChangingDisk> disk = std::make_shared<ChangingDisk>(std::shared_ptr<Storage>(make_file_storage()));
  RunConfig config = place.config({.save_checkpoints_steps = 1, .storage = disk});
  Estimator estimator{known_weights, config};
  const InputFn input = [] { return Dataset::from_tensor_slices(features(6)).repeat().batch(3); };
  const InputFn held_out = [] { return Dataset::from_tensor_slices(features(6)).batch(3); };

  std::vector<float> weights(const std::string& name) {
    const Tensor value = estimator.variable_value(name);
    const auto floats = value.as<float>();
    return {floats.begin(), floats.end()};
  }
  ExportOptions proven() { return {.format = ExportFormat::kOnnx, .proof = {.input = held_out}}; }
};

TEST_F(PlantedError, ATransposedWeightIsRefused) {
  estimator.train(input, {.steps = 1});
  const std::string base = place.folder / "exports";
  const std::string good = estimator.export_model(base, held_out, proven());
  const std::vector<float> kernel = weights("kernel");
  disk->from = bytes_of(kernel);
  disk->to = bytes_of({kernel[0], kernel[2], kernel[1], kernel[3]});
  const auto refused = estimator.try_export_model(base, held_out, proven());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::kFailedPrecondition);
  EXPECT_THAT(refused.error().message(),
              AllOf(HasSubstr("not published"), HasSubstr("of 6 held-out examples"), HasSubstr("the worst: example "),
                    HasSubstr("output \"y\""), HasSubstr("where Shoal has")));
  std::vector<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(base)) left.push_back(entry.path());
  EXPECT_THAT(left, ElementsAre(good));
}

/// The number in the notation of the source.
std::string hexadecimal(float number) {
  char text[32];
  std::snprintf(text, sizeof text, "%af", double(number));
  return text;
}

TEST_F(PlantedError, ATransposedWeightInTheSourceIsRefused) {
  estimator.train(input, {.steps = 1});
  const std::string base = place.folder / "exports";
  const ExportOptions proven_cpp{.format = ExportFormat::kCpp, .proof = {.input = held_out}};
  const std::string good = estimator.export_model(base, held_out, proven_cpp);
  const nlohmann::json proof = nlohmann::json::parse(read_file(good + "/proof.json"));
  EXPECT_EQ(proof.at("form"), "C++ source");
  EXPECT_LE(proof.at("outputs").at("y").at("largest_difference").get<double>(), 1e-6);
  const std::vector<float> kernel = weights("kernel");
  disk->kind = "model.cc";
  disk->from = hexadecimal(kernel[1]) + ", " + hexadecimal(kernel[2]);
  disk->to = hexadecimal(kernel[2]) + ", " + hexadecimal(kernel[1]);
  const auto refused = estimator.try_export_model(base, held_out, proven_cpp);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), AllOf(HasSubstr("its C++ source disagrees"), HasSubstr("output \"y\"")));
  disk->from = "0x1.8p-1f, 0x1.8p-1f";  // The bias.
  disk->to = "0.0f, 0.0f";
  EXPECT_THAT(estimator.try_export_model(base, held_out, proven_cpp).error().message(),
              HasSubstr("its C++ source disagrees"));
  disk->from = "bool predict";
  disk->to = "boool predict";
  EXPECT_THAT(estimator.try_export_model(base, held_out, proven_cpp).error().message(),
              AllOf(HasSubstr("does not compile the exported source"), HasSubstr("boool")));
  std::vector<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(base)) left.push_back(entry.path());
  EXPECT_THAT(left, ElementsAre(good));
}

/// The file has a name for a lone prediction, which is changed here.
TEST_F(PlantedError, AFileWithoutTheLonePredictionIsRefused) {
  const ModelFn model = [](const Features& features, Mode mode) {
    EstimatorSpec spec;
    spec.mode = mode;
    const Value y = nn::dense(features["x"], {.units = 2});
    spec.predictions = {{"", y}};
    spec.loss = ops::reduce_mean(ops::square(y));
    if (mode == Mode::kTrain) spec.train_op = nn::sgd({.learning_rate = 1e-3}).minimize(spec.loss);
    return spec;
  };
  Estimator lone(model, config);
  lone.train(input, {.steps = 1});
  disk->from = "predictions";
  disk->to = "predictionz";
  const auto refused = lone.try_export_model(place.folder / "exports", held_out, proven());
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), AllOf(HasSubstr("cannot be proved"), HasSubstr("has no output \"predictions\"")));
}

/// Training goes on: the last good export stays the newest, and the outcome is that of training without the exporter.
TEST_F(PlantedError, AMissingBiasIsRefusedAndTrainingGoesOn) {
  disk->from = bytes_of({0.75f, 0.75f});
  disk->to = bytes_of({0, 0});
  const auto stop_changing = [this] { disk->from.clear(); };
  class Listener final : public EvalListener {
   public:
    explicit Listener(std::function<void()> after) : after_(std::move(after)) {}
    bool before_eval() override { return true; }
    bool after_eval(const EvalOutcome&) override {
      after_();
      return true;
    }

   private:
    std::function<void()> after_;
  };
  const auto result = train_and_evaluate(estimator, {.input_fn = input, .max_steps = 3},
                                         {.input_fn = held_out,
                                          .throttle_secs = 0,
                                          .exporters = onnx_exporter("onnx", {.proof = {.input = held_out}}),
                                          .listener = std::make_shared<Listener>(stop_changing)});
  EXPECT_EQ(result.report.global_step, 3u);
  EXPECT_EQ(place.log.count('E', "export onnx: not published, since its ONNX file disagrees"), 1);
  EXPECT_TRUE(result.exports.at(0));
}

/// Nodes that cannot be written are named before the first step.
TEST_F(OnnxExport, WhatCannotBeWrittenIsNamedBeforeTraining) {
  const ModelFn model = [](const Features& inputs, Mode mode) {
    EstimatorSpec spec;
    spec.mode = mode;
    const Value x = ops::dropout(inputs["x"], 0.5, "forget");
    spec.predictions = {{"y", x}};
    spec.loss = ops::reduce_mean(ops::square(x));
    if (mode == Mode::kTrain) spec.train_op = nn::train_op({});
    return spec;
  };
  Estimator own(model, place.config({.model_dir = place.folder / "own"}));
  const InputFn input = [] { return Dataset::from_tensor_slices(features(6)).batch(3).repeat(); };
  place.log.clear();
  const auto refused =
      try_train_and_evaluate(own, {.input_fn = input, .max_steps = 2},
                             {.input_fn = input, .exporters = best_exporter("best", {.format = ExportFormat::kOnnx})});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::kInvalidArgument);
  EXPECT_THAT(refused.error().message(),
              AllOf(HasSubstr("exporter best cannot export the model"), HasSubstr("node forget: op dropout is random")));
  EXPECT_EQ(place.log.count('I', "loss ="), 0);
  EXPECT_THAT(own.export_obstacles(ExportFormat::kOnnx, input), ElementsAre("node forget: op dropout is random"));
  EXPECT_THAT(own.export_obstacles(ExportFormat::kShoal, input), ::testing::IsEmpty());
}

}  // namespace
}  // namespace shoal::testing
