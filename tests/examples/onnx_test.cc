// SPDX-License-Identifier: Apache-2.0
/// The models of the example programs in onnxruntime: trained for some steps, exported, and asked about 1,000 inputs in batches of
/// 1, 7 and 992.
#include <gmock/gmock.h>

#include <fstream>

#include "../convert/exported.h"
#include "run_program.h"
#include "shoal/base/random.h"
#include "shoal/estimator/export_names.h"

namespace mnist {
namespace {

using shoal::DType;
using shoal::Shape;
using shoal::Tensor;
using shoal::convert::OnnxJob;
using shoal::data::TensorMap;

constexpr int64_t kBatches[] = {1, 7, 992};

/// One program's model, and how its features are made.
struct Example {
  std::string name;
  Ended (*run)(const std::string& arguments);
  std::string arguments;
  int64_t ids_below = 1;  ///< Integers are below it.
};

/// Numbers in [0, 1), ids in [0, ids_below); axes that vary have 40 positions.
TensorMap random_features(const shoal::ExportedModel& model, int64_t rows, int64_t ids_below) {
  TensorMap features;
  shoal::RandomStream stream(shoal::RandomKey{11});
  for (const shoal::ExportedTensor& input : model.inputs()) {
    std::vector<int64_t> sizes = input.shape;
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i] < 0) sizes[i] = i == 0 ? rows : 40;
    }
    Tensor tensor(input.dtype, Shape(sizes));
    if (input.dtype == DType::kFloat32) shoal::fill_uniform(shoal::RandomKey{12}, 0, tensor.mutable_as<float>(), 0, 1);
    if (input.dtype == DType::kInt64) {
      for (int64_t& id : tensor.mutable_as<int64_t>()) id = int64_t(stream.below(uint64_t(ids_below)));
    }
    features.set(input.name, std::move(tensor));
  }
  return features;
}

/// A trained program's newest export, as a file of ONNX and as a model.
struct Trained {
  Trained(const Example& example, const std::string& folder) {
    const Ended ended = example.run(example.arguments + " --quiet --seed 1 --throttle-secs 0 --model-dir " + folder);
    EXPECT_EQ(ended.status, 0) << ended.output;
    const auto storage = shoal::make_file_storage();
    const std::string exports = folder + "/export/best";
    exported = exports + "/" + shoal::value_or_raise(shoal::exports_in(*storage, exports)).back();
    transformed = shoal::write_onnx(exported, folder + "/model.onnx");
    onnx = shoal::convert::file_contents(folder + "/model.onnx");
    model = shoal::load_exported_model(exported);
  }
  std::string exported, onnx;
  std::vector<shoal::convert::TransformedInput> transformed;
  std::unique_ptr<shoal::ExportedModel> model;
};

void compare(const std::vector<shoal::convert::BatchToCompare>& batches) {
  std::vector<OnnxJob> jobs;
  for (const auto& batch : batches) jobs.push_back(batch.job);
  if (shoal::convert::onnx_checker_missing().empty()) {
    EXPECT_EQ(shoal::convert::onnx_findings(jobs), "");
  }
  if (const std::string missing = shoal::convert::onnx_runtime_missing(); !missing.empty()) GTEST_SKIP() << missing;
  const auto results = shoal::convert::run_onnx(jobs);
  double worst = 0;
  for (size_t i = 0; i < results.size(); ++i) {
    SCOPED_TRACE(jobs[i].name);
    worst = std::max(worst, shoal::convert::compare_outputs(batches[i].expected, results[i]));
  }
  std::cout << jobs[0].name << ": the largest difference is " << worst << " of the largest magnitude\n";
}

class OnnxExamples : public ::testing::TestWithParam<Example> {};

TEST_P(OnnxExamples, GiveWhatShoalPredicts) {
  const TemporaryFolder folder;
  const Trained trained(GetParam(), folder / "m");
  EXPECT_TRUE(trained.transformed.empty());
  std::vector<shoal::convert::BatchToCompare> batches;
  for (int64_t rows : kBatches) {
    batches.push_back(shoal::convert::batch_of(*trained.model, trained.onnx, GetParam().name + "_" + std::to_string(rows),
                                               random_features(*trained.model, rows, GetParam().ids_below)));
  }
  compare(batches);
}

INSTANTIATE_TEST_SUITE_P(, OnnxExamples,
                         ::testing::Values(Example{"mnist_mlp", run_mnist, "--model mlp --steps 30"},
                                           Example{"mnist_cnn", run_mnist, "--model cnn --steps 10"},
                                           Example{"cifar", run_cifar, "--steps 4 --batch 16"},
                                           Example{"text_lstm", run_text, "--model lstm --steps 4 --batch 8", 20},
                                           Example{"text_gpt", run_text, "--model gpt --steps 4 --batch 8", 20}),
                         [](const auto& example) { return example.param.name; });

class OnnxTables : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* data = std::getenv("SHOAL_DATA");
    if (!data) GTEST_SKIP() << "SHOAL_DATA does not name a folder of data sets";
    data_ = data;
  }
  std::string data_;
};

TEST_F(OnnxTables, HousingGivesWhatShoalPredicts) {
  const TemporaryFolder folder;
  const Trained trained({"housing", run_housing, "--steps 50 --data-dir " + data_}, folder / "m");
  std::vector<shoal::convert::BatchToCompare> batches;
  for (int64_t rows : kBatches) {
    batches.push_back(shoal::convert::batch_of(*trained.model, trained.onnx, "housing_" + std::to_string(rows),
                                               random_features(*trained.model, rows, 1)));
  }
  compare(batches);
}

/// The cells of some lines of adult.test: people that the model has not seen.
std::vector<std::vector<std::string>> people(const std::string& path, size_t count) {
  std::ifstream file(path);
  std::vector<std::vector<std::string>> rows;
  for (std::string line; rows.size() < count && std::getline(file, line);) {
    if (line.starts_with("|")) continue;
    rows.emplace_back();
    for (size_t at = 0; at < line.size();) {
      const size_t end = std::min(line.find(", ", at), line.size());
      rows.back().push_back(line.substr(at, end - at));
      at = end + 2;
    }
  }
  return rows;
}

/// Features of these people; a "?" says that nothing is known.
TensorMap features_of(const shoal::ExportedModel& model, std::span<const std::vector<std::string>> rows) {
  const std::vector<std::string> names{
      "age",          "workclass", "fnlwgt", "education",    "education_num", "marital_status", "occupation",
      "relationship", "race",      "sex",    "capital_gain", "capital_loss",  "hours_per_week", "native_country"};
  TensorMap features;
  for (const shoal::ExportedTensor& input : model.inputs()) {
    const auto column = size_t(std::find(names.begin(), names.end(), input.name) - names.begin());
    std::vector<std::string> texts;
    Tensor numbers(input.dtype, {int64_t(rows.size())});
    for (size_t i = 0; i < rows.size(); ++i) {
      const std::string& cell = rows[i].at(column);
      texts.push_back(cell == "?" ? "" : cell);
      if (input.dtype == DType::kFloat32) numbers.mutable_as<float>()[i] = std::stof(cell);
      if (input.dtype == DType::kInt64) numbers.mutable_as<int64_t>()[i] = std::stoll(cell);
    }
    const bool is_text = input.dtype == DType::kString;
    features.set(input.name, is_text ? Tensor::of_strings(numbers.shape(), std::move(texts)) : std::move(numbers));
  }
  return features;
}

/// As the words of the file say: hash64 of education and occupation, each itself a hash of its text.
Tensor crossed(const TensorMap& features) {
  const auto education = features["education"].strings(), occupation = features["occupation"].strings();
  Tensor ids(DType::kInt64, {int64_t(education.size()), 1});
  for (size_t i = 0; i < education.size(); ++i) {
    std::string bytes;
    for (const std::string& text : {education[i], occupation[i]}) {
      for (int byte = 0; byte < 8; ++byte) bytes.push_back(char(shoal::hash64(text) >> (8 * byte) & 0xff));
    }
    const bool missing = education[i].empty() || occupation[i].empty();
    ids.mutable_as<int64_t>()[i] = missing ? -1 : int64_t(shoal::hash64(bytes) % 1000);
  }
  return ids;
}

TEST_F(OnnxTables, AdultGivesWhatShoalPredicts) {
  const TemporaryFolder folder;
  const Trained trained({"adult", run_adult, "--steps 50 --data-dir " + data_}, folder / "m");
  ASSERT_EQ(trained.transformed.size(), 1u);
  EXPECT_THAT(trained.transformed[0].how, ::testing::HasSubstr("(1) hash64(text of feature \"education\")"));
  const auto rows = people(data_ + "/adult/adult.test", 1000);
  std::vector<shoal::convert::BatchToCompare> batches;
  size_t at = 0;
  for (int64_t count : kBatches) {
    const TensorMap features = features_of(*trained.model, std::span(rows).subspan(at, size_t(count)));
    at += size_t(count);
    batches.push_back(shoal::convert::batch_of(*trained.model, trained.onnx, "adult_" + std::to_string(count), features));
    batches.back().job.inputs.emplace(trained.transformed[0].name, crossed(features));
  }
  compare(batches);
}

}  // namespace
}  // namespace mnist
