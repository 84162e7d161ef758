// SPDX-License-Identifier: Apache-2.0
// Layers, heads and columns: models that were trained for a few steps, exported, and computed by onnxruntime, batches of 1, 7 and
// 1,000 examples from one file.
#include <set>

#include "exported.h"
#include "shoal/convert/onnx_model.h"
#include "shoal/shoal.h"

namespace shoal::convert {
namespace {

constexpr int64_t kRows[] = {1, 7, 1000};

Tensor floats(const Shape& shape, uint64_t key) {
  Tensor tensor(DType::kFloat32, shape);
  fill_uniform(fold_in(RandomKey{5}, key), 0, tensor.mutable_as<float>(), -1, 1);
  return tensor;
}

Tensor integers(const Shape& shape, int64_t low, int64_t high, uint64_t key) {
  Tensor tensor(DType::kInt64, shape);
  RandomStream stream(fold_in(RandomKey{6}, key));
  for (int64_t& value : tensor.mutable_as<int64_t>()) value = low + int64_t(stream.below(uint64_t(high - low)));
  return tensor;
}

Tensor words(int64_t rows, const std::vector<std::string>& from, uint64_t key) {
  RandomStream stream(fold_in(RandomKey{7}, key));
  std::vector<std::string> texts;
  for (int64_t i = 0; i < rows; ++i) texts.push_back(from[stream.below(from.size())]);
  return Tensor::of_strings({rows}, std::move(texts));
}

/// One model: its features for a number of rows (and the same number of labels), and how it is made.
struct ModelCase {
  std::string name;
  std::function<data::TensorMap(int64_t rows)> features;
  std::function<data::TensorMap(int64_t rows)> labels;  ///< Empty: there are none.
  std::function<Estimator(RunConfig config)> make;
};

InputFn input_of(const ModelCase& model, int64_t rows) {
  data::TensorMap labels = model.labels ? model.labels(rows) : data::TensorMap();
  return data::Dataset::from_tensor_slices(model.features(rows), std::move(labels)).batch(16).repeat();
}

/// A layer as a model: what it gives is predicted, and made smaller by training.
ModelCase layer_case(std::string name, std::function<data::TensorMap(int64_t)> features,
                     std::function<Value(const Features&, Mode)> layer, VaryingAxes varying = {}) {
  const ModelFn model_fn = [layer](const Features& inputs, Mode mode) {
    EstimatorSpec spec;
    spec.mode = mode;
    const Value y = layer(inputs, mode);
    spec.predictions = {{"y", y}};
    if (mode == Mode::kPredict) return spec;
    spec.loss = ops::reduce_mean(ops::square(y));
    if (mode == Mode::kTrain) spec.train_op = nn::sgd({.learning_rate = 0.1}).minimize(spec.loss);
    return spec;
  };
  return {std::move(name), std::move(features), {}, [model_fn, varying](RunConfig config) {
            Estimator estimator(model_fn, std::move(config));
            estimator.vary(varying);
            return estimator;
          }};
}

ModelCase on_images(std::string name, std::function<Value(Value, Mode)> layer) {
  return layer_case(
      std::move(name),
      [](int64_t rows) {
        return data::TensorMap(floats({rows, 9, 8, 6}, 1));
      },
      [layer](const Features& inputs, Mode mode) { return layer(inputs.single(), mode); });
}
ModelCase on_rows(std::string name, std::function<Value(Value, Mode)> layer) {
  return layer_case(
      std::move(name),
      [](int64_t rows) {
        return data::TensorMap(floats({rows, 5}, 2));
      },
      [layer](const Features& inputs, Mode mode) { return layer(inputs.single(), mode); });
}
/// Sequences of any length: `x`, and how many positions of each count.
ModelCase on_sequences(std::string name, std::function<Value(Value x, Value lengths, Mode)> layer) {
  return layer_case(
      std::move(name),
      [](int64_t rows) {
        const int64_t length = rows == 7 ? 4 : 11;
        return data::TensorMap{{"x", floats({rows, length, 6}, 3)}, {"lengths", integers({rows}, 0, length + 1, 4)}};
      },
      [layer](const Features& inputs, Mode mode) { return layer(inputs["x"], inputs["lengths"], mode); },
      {{"features/x", {"time", ""}}});
}

std::vector<ModelCase> layer_cases() {
  std::vector<ModelCase> cases;
  using nn::Activation;
  for (const Activation activation :
       {Activation::kNone, Activation::kRelu, Activation::kSigmoid, Activation::kTanh, Activation::kSoftplus,
        Activation::kLeakyRelu, Activation::kElu, Activation::kGelu, Activation::kGeluTanh, Activation::kSilu}) {
    cases.push_back(on_rows("dense_" + std::to_string(int(activation)),
                            [activation](Value x, Mode) { return nn::dense(x, {.units = 7, .activation = activation}); }));
  }
  cases.push_back(on_rows("dropout", [](Value x, Mode mode) { return nn::dropout(nn::dense(x, {.units = 4}), mode); }));
  cases.push_back(
      on_rows("batch_norm_rows", [](Value x, Mode mode) { return nn::batch_norm(nn::dense(x, {.units = 4}), mode); }));
  cases.push_back(on_rows("layer_norm", [](Value x, Mode) { return nn::layer_norm(nn::dense(x, {.units = 9})); }));
  cases.push_back(on_rows("recompute", [](Value x, Mode) {
    return nn::recompute(x, [](Value inner) { return nn::dense(inner, {.units = 3, .activation = Activation::kRelu}); });
  }));
  cases.push_back(on_rows("shared", [](Value x, Mode) {
    nn::Shared tower("tower", [](Value inner) { return nn::dense(inner, {.units = 5, .activation = Activation::kTanh}); });
    return ops::sub(tower(x), tower(ops::scale(x, 0.5)));
  }));
  cases.push_back(on_images("conv2d", [](Value x, Mode) {
    return nn::conv2d(x, {.filters = 4, .strides = 2, .padding = Padding::same(), .activation = Activation::kRelu});
  }));
  cases.push_back(on_images("conv2d_dilated_groups", [](Value x, Mode) {
    return nn::conv2d(x, {.filters = 4, .dilation = 2, .groups = 2, .use_bias = false});
  }));
  cases.push_back(on_images("depthwise_conv2d", [](Value x, Mode) { return nn::depthwise_conv2d(x, {.multiplier = 2}); }));
  cases.push_back(on_images("conv2d_transpose", [](Value x, Mode) {
    return nn::conv2d_transpose(x, {.filters = 3, .strides = 2, .padding = Padding::same()});
  }));
  cases.push_back(on_images("conv2d_transpose_valid", [](Value x, Mode) {
    return nn::conv2d_transpose(x, {.filters = 4, .strides = 3, .output_padding = 1, .groups = 2});
  }));
  cases.push_back(on_images("pools", [](Value x, Mode) {
    return nn::avg_pool(nn::max_pool(nn::conv2d(x, {.filters = 4}), {.strides = 1, .padding = Padding::same()}),
                        {.window = 3, .padding = Padding::same()});
  }));
  cases.push_back(on_images("global_pools", [](Value x, Mode) {
    const Value y = nn::conv2d(x, {.filters = 4});
    return ops::concat({nn::global_max_pool(y), nn::global_avg_pool(y)}, -1);
  }));
  cases.push_back(on_images("batch_norm", [](Value x, Mode mode) {
    return nn::batch_norm(nn::conv2d(x, {.filters = 4, .use_bias = false}), mode, {.activation = Activation::kRelu});
  }));
  cases.push_back(
      on_images("group_norm", [](Value x, Mode) { return nn::group_norm(nn::conv2d(x, {.filters = 8}), {.groups = 4}); }));
  cases.push_back(on_images("residual_block", [](Value x, Mode mode) {
    return nn::residual_block(nn::residual_block(x, mode, {.filters = 6}), mode, {.filters = 8, .strides = 2});
  }));
  cases.push_back(on_images("flatten", [](Value x, Mode) { return nn::dense(nn::flatten(x), {.units = 3}); }));
  cases.push_back(on_sequences("lstm", [](Value x, Value lengths, Mode) {
    const ops::Lstm y = nn::lstm(x, {.units = 5, .lengths = lengths});
    return ops::concat({y.last_hidden, y.last_cell, ops::reduce_mean(y.sequence, {.axes = {1}})}, -1);
  }));
  cases.push_back(on_sequences("gru", [](Value x, Value lengths, Mode) {
    const ops::Gru y = nn::gru(x, {.units = 5, .lengths = lengths});
    return ops::concat({y.last_hidden, ops::reduce_mean(y.sequence, {.axes = {1}})}, -1);
  }));
  cases.push_back(on_sequences("lstm_whole", [](Value x, Value, Mode) { return nn::lstm(x, {.units = 5}).sequence; }));
  cases.push_back(on_sequences("attention", [](Value x, Value lengths, Mode) {
    return nn::multi_head_attention(x, {.heads = 2, .lengths = lengths});
  }));
  cases.push_back(on_sequences("cross_attention", [](Value x, Value lengths, Mode) {
    return nn::multi_head_attention(x, ops::scale(x, 0.5), {.heads = 3, .lengths = lengths});
  }));
  cases.push_back(on_sequences("transformer", [](Value x, Value lengths, Mode mode) {
    return nn::transformer_block(nn::transformer_block(x, mode, {.heads = 2, .causal = true}), mode,
                                 {.heads = 2, .dropout = 0.1, .lengths = lengths});
  }));
  cases.push_back(layer_case(
      "conv1d",
      [](int64_t rows) {
        return data::TensorMap(floats({rows, 12, 3}, 8));
      },
      [](const Features& inputs, Mode) { return nn::conv1d(inputs.single(), {.filters = 4, .stride = 2}); }));
  cases.push_back(layer_case(
      "position_embedding",
      [](int64_t rows) {
        return data::TensorMap(floats({rows, 12, 3}, 21));
      },
      [](const Features& inputs, Mode) { return nn::position_embedding(inputs.single(), {.positions_max = 16}); }));
  cases.push_back(layer_case(
      "embedding",
      [](int64_t rows) {
        return data::TensorMap(integers({rows, 6}, 0, 20, 9));
      },
      [](const Features& inputs, Mode) { return nn::embedding(inputs.single(), {.ids = 20, .dimension = 4}); }));
  return cases;
}

ModelCase head_case(std::string name, std::function<std::shared_ptr<const nn::Head>()> head,
                    std::function<data::TensorMap(int64_t)> labels) {
  return {std::move(name),
          [](int64_t rows) {
            return data::TensorMap{{"x", floats({rows, 4}, 10)}};
          },
          std::move(labels),
          [head](RunConfig config) {
            return dnn_estimator({.columns = {columns::numeric("x", {.shape = {4}})}, .hidden_units = {8}}, head(), config);
          }};
}

std::vector<ModelCase> head_cases() {
  const auto ids = [](int64_t classes) { return [classes](int64_t rows) { return integers({rows}, 0, classes, 11); }; };
  const auto numbers = [](int64_t columns) { return [columns](int64_t rows) { return floats({rows, columns}, 12); }; };
  std::vector<ModelCase> cases;
  cases.push_back(head_case(
      "multi_class", [] { return nn::multi_class_head({.n_classes = 5}); }, ids(5)));
  cases.push_back(head_case(
      "multi_class_words",
      [] {
        return nn::multi_class_head({.n_classes = 3, .label_vocabulary = {"red", "green", "blue"}});
      },
      [](int64_t rows) {
        return words(rows, {"red", "green", "blue"}, 13);
      }));
  cases.push_back(head_case(
      "binary", [] { return nn::binary_head(); }, ids(2)));
  cases.push_back(head_case(
      "binary_words",
      [] {
        return nn::binary_head({.label_vocabulary = {"no", "yes"}});
      },
      [](int64_t rows) {
        return words(rows, {"no", "yes"}, 14);
      }));
  cases.push_back(head_case(
      "regression", [] { return nn::regression_head({.label_dimension = 3}); }, numbers(3)));
  cases.push_back(head_case(
      "poisson", [] { return nn::poisson_regression_head(); },
      [](int64_t rows) { return Tensor::zeros(DType::kFloat32, {rows}); }));
  cases.push_back(head_case(
      "logistic", [] { return nn::logistic_regression_head(); },
      [](int64_t rows) { return Tensor::zeros(DType::kFloat32, {rows}); }));
  cases.push_back(head_case(
      "multi_label", [] { return nn::multi_label_head({.n_classes = 4}); },
      [](int64_t rows) {
        return integers({rows, 4}, 0, 2, 15);
      }));
  cases.push_back(head_case(
      "multi_head",
      [] {
        return nn::multi_head(
            {nn::binary_head({.name = "kind"}), nn::regression_head({.label_dimension = 2, .name = "size"})});
      },
      [](int64_t rows) {
        return data::TensorMap{{"kind", integers({rows}, 0, 2, 22)}, {"size", floats({rows, 2}, 23)}};
      }));
  return cases;
}

ModelCase column_case(std::string name, std::function<std::vector<columns::Column>()> columns) {
  auto features = [](int64_t rows) {
    return data::TensorMap{{"age", floats({rows}, 16)},
                           {"id", integers({rows}, -2, 12, 17)},
                           {"job", words(rows, {"baker", "smith", "miller", "", "astronaut"}, 18)},
                           {"weight", floats({rows}, 19)}};
  };
  return {std::move(name), features, [](int64_t rows) { return integers({rows}, 0, 2, 20); },
          [columns](RunConfig config) {
            return dnn_classifier({.columns = columns(), .hidden_units = {6}}, {.n_classes = 2}, config);
          }};
}

std::vector<ModelCase> column_cases() {
  using columns::Column;
  const auto job = [] { return columns::categorical_by_vocabulary("job", {"baker", "smith", "miller"}); };
  const auto id = [] { return columns::categorical_by_identity("id", {.count = 10, .default_id = 3}); };
  const auto age = [] { return columns::numeric("age"); };
  using Columns = std::vector<Column>;
  std::vector<ModelCase> cases;
  cases.push_back(column_case("numeric", [=] { return Columns{age()}; }));
  cases.push_back(column_case("bucketized", [=] {
    return Columns{columns::indicator(columns::bucketized(age(), {-0.5, 0, 0.25}))};
  }));
  cases.push_back(column_case("identity", [=] {
    return Columns{columns::indicator(id()), columns::embedding(id(), {.dimension = 3})};
  }));
  cases.push_back(column_case("vocabulary", [=] {
    return Columns{columns::indicator(job()),
                   columns::embedding(job(), {.dimension = 2, .combiner = ops::Combiner::kSqrtN})};
  }));
  cases.push_back(column_case("vocabulary_missing", [=] {
    const Column missing =
        columns::categorical_by_vocabulary("job", {"baker", "miller"}, {.default_id = 1, .missing_bucket = true});
    return Columns{columns::indicator(missing)};
  }));
  cases.push_back(column_case("weighted", [=] { return Columns{columns::indicator(columns::weighted(job(), "weight"))}; }));
  return cases;
}

uint64_t hash_of_ids(const std::vector<int64_t>& ids) {
  std::string bytes;
  for (int64_t id : ids) {
    for (int byte = 0; byte < 8; ++byte) bytes.push_back(char(uint64_t(id) >> (8 * byte) & 0xff));
  }
  return hash64(bytes);
}

/// The folder of the export of a model after three steps.
std::string train_and_export(const ModelCase& model, const std::string& folder) {
  Estimator estimator =
      model.make(RunConfig({.model_dir = folder, .random_seed = 3, .runtime = RuntimeOptions{.threads = 1}}));
  estimator.train(input_of(model, 64), {.steps = 3});
  return estimator.export_model(folder + "/export", data::Dataset::from_tensor_slices(model.features(4)).batch(4));
}

class OnnxModels : public ::testing::Test {
 protected:
  OnnxModels() : folder_(::testing::TempDir() + "onnx_models_" + std::to_string(getpid())) {}
  ~OnnxModels() override { std::filesystem::remove_all(folder_); }

  /// Trains, exports and compares.
  void compare(const std::vector<ModelCase>& models) {
    std::vector<OnnxJob> jobs;
    std::vector<BatchToCompare> batches;
    for (const ModelCase& model : models) {
      SCOPED_TRACE(model.name);
      const std::string place = folder_ + "/" + model.name;
      const std::string exported = train_and_export(model, place);
      EXPECT_TRUE(write_onnx(exported, place + "/model.onnx").empty());
      const std::string onnx = file_contents(place + "/model.onnx");
      const auto loaded = load_exported_model(exported);
      for (int64_t rows : kRows) {
        batches.push_back(batch_of(*loaded, onnx, model.name + "_" + std::to_string(rows), model.features(rows)));
        jobs.push_back(batches.back().job);
      }
    }
    if (onnx_checker_missing().empty()) {
      EXPECT_EQ(onnx_findings(jobs), "");
    }
    if (const std::string missing = onnx_runtime_missing(); !missing.empty()) GTEST_SKIP() << missing;
    const std::vector<OnnxResult> results = run_onnx(jobs);
    double worst = 0;
    for (size_t i = 0; i < results.size(); ++i) {
      SCOPED_TRACE(jobs[i].name);
      ASSERT_EQ(results[i].error.find("no results"), std::string::npos) << results[i].error;
      worst = std::max(worst, compare_outputs(batches[i].expected, results[i]));
    }
    std::cout << models.size() << " models; the largest difference is " << worst << " of the largest magnitude\n";
  }

  std::string folder_;
};

TEST_F(OnnxModels, EveryLayerGivesWhatShoalPredicts) { compare(layer_cases()); }
TEST_F(OnnxModels, EveryHeadGivesWhatShoalPredicts) { compare(head_cases()); }
TEST_F(OnnxModels, ColumnsThatOnnxCanSayTakeTheirFeatures) { compare(column_cases()); }

/// ONNX has no hash: the file says in words how its further inputs are computed.
TEST_F(OnnxModels, WhatIsHashedComesInAsIds) {
  const ModelCase model = column_case("hashed", [] {
    return std::vector{columns::indicator(columns::categorical_by_hash("job", {.buckets = 50})),
                       columns::indicator(columns::crossed({"job", "id"}, {.buckets = 30}))};
  });
  const std::string exported = train_and_export(model, folder_);
  const auto transformed = write_onnx(exported, folder_ + "/model.onnx");
  ASSERT_EQ(transformed.size(), 2u);
  const data::TensorMap features = model.features(100);
  const auto loaded = load_exported_model(exported);
  BatchToCompare batch = batch_of(*loaded, file_contents(folder_ + "/model.onnx"), "hashed", features);
  Tensor hashed(DType::kInt64, {100});
  Tensor crossed(DType::kInt64, {100, 1});
  for (size_t i = 0; i < 100; ++i) {
    const std::string& job = features["job"].strings()[i];
    const std::string id = std::to_string(features["id"].as<int64_t>()[i]);
    hashed.mutable_as<int64_t>()[i] = job.empty() ? -1 : int64_t(hash64(job) % 50);
    crossed.mutable_as<int64_t>()[i] =
        job.empty() ? -1 : int64_t(hash_of_ids({int64_t(hash64(id)), int64_t(hash64(job))}) % 30);
  }
  for (const TransformedInput& input : transformed) {
    const bool is_hash = input.how.find("modulo 50") != std::string::npos;
    EXPECT_NE(input.how.find(is_hash ? "hash64(text of feature \"job\") modulo 50; \"\" is -1" : "modulo 30"),
              std::string::npos)
        << input.how;
    batch.job.inputs[input.name] = is_hash ? hashed : crossed;
  }
  if (const std::string missing = onnx_runtime_missing(); !missing.empty()) GTEST_SKIP() << missing;
  compare_outputs(batch.expected, run_onnx({batch.job})[0]);
}

/// A feature may have the name that the ids of another one would get.
TEST_F(OnnxModels, NamesOfHashesAreFree) {
  const auto features = [](int64_t rows) {
    return data::TensorMap{{"town", words(rows, {"Ulm", "Bonn"}, 24)}, {"town/ids", floats({rows}, 25)}};
  };
  const ModelCase model{"clash", features, [](int64_t rows) { return data::TensorMap(integers({rows}, 0, 2, 26)); },
                        [](RunConfig config) {
                          return dnn_classifier(
                              {.columns = {columns::numeric("town/ids"),
                                           columns::indicator(columns::categorical_by_hash("town", {.buckets = 9}))},
                               .hidden_units = {4}},
                              {.n_classes = 2}, config);
                        }};
  const auto transformed = write_onnx(train_and_export(model, folder_), folder_ + "/model.onnx");
  ASSERT_EQ(transformed.size(), 1u);
  EXPECT_EQ(transformed[0].name, "town/ids_1");
  const OnnxModel file = value_or_raise(OnnxModel::parse(file_contents(folder_ + "/model.onnx")));
  EXPECT_EQ(file.inputs().size(), 2u);
}

}  // namespace
}  // namespace shoal::convert
