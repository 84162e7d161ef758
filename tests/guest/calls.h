// SPDX-License-Identifier: Apache-2.0
#pragma once
// Every public call that computes, as a user's program makes it; ended well, and by an exception.
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "../base/temporary_folder.h"
#include "shoal/estimator/task_host.h"
#include "shoal/shoal.h"

namespace shoal::testing {

/// Enough rows that kernels share their work among threads.
constexpr int kBatch = 512;

inline EstimatorSpec guest_model(const Features& features, const Labels& labels, Mode mode, const Params&,
                                 const RunConfig&) {
  const Value hidden = nn::dense(features["x"], {.units = 256, .activation = nn::Activation::kRelu});
  nn::HeadInput input{.mode = mode, .labels = labels, .logits = nn::dense(hidden, {.units = 1})};
  if (mode == Mode::kTrain) input.optimizer = nn::adam({});
  return nn::binary_head()->build(input);
}

inline EstimatorSpec throwing_model(const Features&, const Labels&, Mode, const Params&, const RunConfig&) {
  throw std::runtime_error("this model_fn throws");
}

inline data::Dataset guest_data() {
  Tensor x(DType::kFloat32, {1024, 2}), y = Tensor::zeros(DType::kInt64, {1024});
  int i = 0;
  for (float& value : x.mutable_as<float>()) value = float(i++ % 7) - 3;
  return data::Dataset::from_tensor_slices({{"x", x}}, y);
}

/// Rows of which the third batch throws while it is made.
inline data::Dataset throwing_data() {
  auto made = std::make_shared<int>(0);
  return guest_data().repeat().map([made](data::Element element) {
    if (++*made > 2 * kBatch) throw std::runtime_error("this input throws");
    return element;
  });
}

/// `rows` through every stage that has threads.
inline data::Dataset busy_data(const data::Dataset& rows, int threads) {
  const auto same = [](data::Element element) { return element; };
  return rows.map(same, {.parallel = threads + 1}).shuffle(100).batch(64).prefetch(2);
}

inline RunConfig guest_config(const std::string& model_dir, int threads) {
  RunConfigOptions options;
  options.model_dir = model_dir;
  options.random_seed = 7;
  options.runtime = RuntimeOptions{.threads = threads};
  return RunConfig(std::move(options)).with_host([] {
    auto host = std::make_shared<TaskHost>();
    host->sink = [](const LogRecord&) {};
    return host;
  }());
}

/// A call of the public interface. `folder` is its own, and has a trained model in "model" and an export of that in "export".
struct Call {
  std::string name;
  std::function<void(const std::string& folder, int threads)> make;
  bool throws = false;
};

inline void prepare(const std::string& folder) {
  Estimator estimator(guest_model, guest_config(folder + "/model", 1));
  estimator.train(guest_data().repeat().batch(kBatch), {.max_steps = 5});
  std::filesystem::rename(estimator.export_model(folder + "/exports", guest_data().batch(4)), folder + "/export");
}

inline std::vector<Call> all_calls() {
  const auto on = [](auto work) {
    return [work](const std::string& folder, int threads) {
      Estimator estimator(guest_model, guest_config(folder + "/model", threads));
      work(estimator, folder);
    };
  };
  const auto fresh = [](auto work) {
    return [work](const std::string&, int threads) {
      const TemporaryFolder model;
      Estimator estimator(guest_model, guest_config(model / "model", threads));
      work(estimator);
    };
  };
  const auto broken = [](auto work) {
    return [work](const std::string& folder, int threads) {
      Estimator estimator(throwing_model, guest_config(folder + "/model", threads));
      work(estimator);
    };
  };
  const auto with_model = [](auto work) {
    return [work](const std::string& folder, int threads) {
      const auto model = load_exported_model(folder + "/export", {.threads = threads});
      work(*model);
    };
  };
  const auto batches = guest_data().repeat().batch(kBatch);
  return {
      {"train", on([batches](Estimator& e, auto&) { e.train(batches, {.steps = 5}); })},
      {"train that throws", on([](Estimator& e, auto&) { e.train(throwing_data().batch(kBatch), {.steps = 50}); }), true},
      {"train a model that throws", broken([batches](Estimator& e) { e.train(batches, {.steps = 5}); }), true},
      {"train_and_evaluate", fresh([batches](Estimator& e) {
         train_and_evaluate(e, {.input_fn = batches, .max_steps = 5},
                            {.input_fn = guest_data().batch(kBatch), .throttle_secs = 0});
       })},
      {"train_and_evaluate that throws", fresh([batches](Estimator& e) {
         train_and_evaluate(e, {.input_fn = batches, .max_steps = 5},
                            {.input_fn = throwing_data().batch(kBatch), .throttle_secs = 0});
       }),
       true},
      {"evaluate", on([](Estimator& e, auto&) { e.evaluate(guest_data().batch(kBatch)); })},
      {"evaluate that throws", on([](Estimator& e, auto&) { e.evaluate(throwing_data().batch(kBatch)); }), true},
      {"predict", on([](Estimator& e, auto&) {
         const auto predictions = e.predict(guest_data().batch(kBatch));
         while (predictions->next()) {
         }
       })},
      {"a prediction that is not the last", on([](Estimator& e, auto&) { e.predict(guest_data().batch(kBatch))->next(); })},
      {"predict that throws", on([](Estimator& e, auto&) {
         const auto predictions = e.predict(throwing_data().batch(kBatch));
         while (predictions->next()) {
         }
       }),
       true},
      {"export_model",
       on([](Estimator& e, const std::string& folder) { e.export_model(folder + "/more", guest_data().batch(4)); })},
      {"export_model that throws", broken([](Estimator& e) { e.export_model("unused", guest_data().batch(4)); }), true},
      {"variable_value", on([](Estimator& e, auto&) { e.variable_value(e.variable_names().front()); })},
      {"variable_value that throws", on([](Estimator& e, auto&) { e.variable_value("none"); }), true},
      {"load_exported_model", with_model([](ExportedModel&) {})},
      {"load_exported_model that throws", [](const std::string& folder, int) { load_exported_model(folder + "/none"); },
       true},
      {"ExportedModel::predict", with_model([](ExportedModel& model) {
         model.predict({{"x", Tensor::zeros(DType::kFloat32, {3, 2})}});
       })},
      {"ExportedModel::predict that throws", with_model([](ExportedModel& model) {
         model.predict({{"z", Tensor::zeros(DType::kFloat32, {3, 2})}});
       }),
       true},
      {"Dataset::elements",
       [](const std::string&, int threads) {
         for (const data::Element& element : busy_data(guest_data(), threads).elements({.seed = 7})) {
           if (element.features.size() != 1) throw std::logic_error("an element has one feature");
         }
       }},
      {"Dataset::elements, left in the middle",
       [](const std::string&, int threads) {
         for ([[maybe_unused]] const data::Element& element : busy_data(guest_data().repeat(), threads).elements()) break;
       }},
      {"Dataset::elements that throws",
       [](const std::string&, int threads) {
         for ([[maybe_unused]] const data::Element& element : busy_data(throwing_data(), threads).elements()) {
         }
       },
       true},
      {"Dataset::iterate",
       [](const std::string&, int threads) {
         const auto iterator = value_or_raise(busy_data(guest_data(), threads).iterate());
         data::Element element;
         while (value_or_raise(iterator->next(element))) {
         }
       }},
      {"statistics_of", [](const std::string&, int) { columns::statistics_of(guest_data().batch(kBatch)); }},
      {"statistics_of that throws", [](const std::string&, int) { columns::statistics_of(throwing_data().batch(kBatch)); },
       true},
  };
}

}  // namespace shoal::testing
