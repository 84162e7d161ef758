// SPDX-License-Identifier: Apache-2.0
/// Finds the values of a model that hooks ask for: values by name, and values that are computed once.
#include <algorithm>
#include <cstring>
#include <set>

#include "model/model.h"

namespace shoal {

HookSetup BuiltModel::hook_setup() {
  const Value loss = spec_.mode == Mode::kPredict ? Value() : spec_.loss;
  std::vector<ModelName> named;
  const auto add = [&named](const auto& values, std::string_view what) {
    for (const auto& [name, value] : values) {
      if (!name.empty() && value.valid()) named.push_back({name, value, what});
    }
  };
  add(spec_.named_values, "named value");
  if (loss.valid()) named.push_back({"loss", loss, "loss"});
  add(spec_.predictions, "prediction");
  add(spec_.summaries, "summary");
  for (const auto& [name, metric] : spec_.eval_metrics) named.push_back({name, {}, "metric"});
  return HookSetup(*graph_, loss, std::move(named));
}

/// Refuses a named value whose name another value of the model has, since hooks could no longer find the other value.
Result<void> BuiltModel::check_named_values() {
  std::set<std::string_view> names;
  for (const auto& [name, value] : spec_.named_values) {
    if (!value.valid()) return invalid_argument("model_fn: the named value \"" + name + "\" is no value of the graph");
    if (name.empty()) return invalid_argument("model_fn: a named value has the name \"\"");
    if (!names.insert(name).second) return invalid_argument("model_fn: two named values have the name \"" + name + "\"");
  }
  for (const auto& [name, value] : spec_.named_values) {
    const std::string other = hook_setup().other_of_name(name, value);
    if (!other.empty()) {
      return invalid_argument("model_fn: the named value \"" + name + "\" has the name of " + other +
                              " of the model; give it another one");
    }
  }
  return {};
}

namespace {

/// True for a name under which training itself writes a summary, so that a model must not use it.
bool is_reserved_summary(std::string_view name) {
  constexpr std::string_view kOfTheJob[] = {"batches_per_sec", "loss", "staleness", "staleness_max", "dropped", "waiting"};
  if (name.starts_with("job/")) return std::ranges::find(kOfTheJob, name.substr(4)) != std::end(kOfTheJob);
  return name == "loss" || name == "global_step/sec" || name == "input_wait" ||
         (name.starts_with("trainer_") && name.ends_with("/batches_per_sec"));
}

}  // namespace

/// Refuses two predictions, or two summaries, of one name: the later one would hide the other.
Result<void> BuiltModel::check_twice() const {
  std::set<std::string_view> predictions, summaries;
  const auto twice = [](std::string_view what, const std::string& name) {
    return invalid_argument("model_fn: two " + std::string(what) + " are named \"" + name + "\"; give one another name");
  };
  for (const auto& [name, value] : spec_.predictions) {
    if (!predictions.insert(name).second) return twice("predictions", name);
  }
  for (const nn::TextPrediction& text : spec_.text_predictions) {
    if (!predictions.insert(text.key()).second) return twice("predictions", text.key());
  }
  for (const auto& [name, value] : spec_.summaries) {
    if (!summaries.insert(name).second) return twice("summaries", name);
    if (!is_reserved_summary(name)) continue;
    return invalid_argument("model_fn: a summary may not be named " + name +
                            ", as training records that itself; give it another name");
  }
  std::set<std::string_view> images;
  for (const ImageSummary& summary : spec_.image_summaries) {
    if (!images.insert(summary.name).second) return twice("image summaries", summary.name);
    if (!summary.encode)
      return invalid_argument("model_fn: make the image summary \"" + summary.name + "\" by image_summary()");
  }
  return {};
}

Result<std::vector<std::pair<std::string, Tensor>>> BuiltModel::compute_once(const NamedValues& values,
                                                                             const data::Batch& batch,
                                                                             const BindVariables& bind,
                                                                             backends::StepKey key) {
  SHOAL_TRY(const SymbolSizes sizes, sizes_of(batch));
  backends::CompileOptions options{.sizes = sizes, .threads = threads_, .compute_dtype = compute_dtype_};
  for (const auto& [name, value] : values) options.fetches.push_back(value);
  BoundProgram bound;
  SHOAL_TRY(bound.program, backend_->compile(*graph_, std::move(options)));
  SHOAL_TRY_VOID(bind_sources(bound));
  SHOAL_TRY_VOID(feed(bound, batch, {}));
  SHOAL_TRY(const std::vector<backends::Pieces> variables, bind(*bound.program));
  SHOAL_TRY_VOID(
      bound.program->run({.inputs = bound.inputs, .variables = variables, .updates = {}, .weights = {1, 1}, .key = key}));
  std::vector<std::pair<std::string, Tensor>> computed;
  for (size_t i = 0; i < values.size(); ++i) {
    const TensorView& fetched = bound.program->fetched()[i];
    Tensor copy(fetched.dtype, fetched.shape);
    if (copy.bytes() > 0) std::memcpy(copy.mutable_view().data, fetched.data, copy.bytes());
    computed.emplace_back(values[i].first, std::move(copy));
  }
  return computed;
}

}  // namespace shoal
