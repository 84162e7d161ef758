// SPDX-License-Identifier: Apache-2.0
/// RunConfig::replace() by names: fields as text, from a file or a command line.
#include <functional>
#include <map>

#include "shoal/base/forever.h"
#include "shoal/base/names_text.h"
#include "shoal/base/number_text.h"
#include "shoal/estimator/run_config.h"

namespace shoal {
namespace {

Error no_value(const NamedChange& change, std::string_view wanted) {
  return invalid_argument("RunConfig: " + change.name + ": \"" + change.value + "\" is not " + std::string(wanted));
}

bool is_none(std::string_view text) { return text == "none" || text == "None" || text == "null"; }

template <class T>
Result<T> parse(const NamedChange& change) {
  if (const std::optional<T> value = number_from<T>(change.value)) return *value;
  return no_value(change, std::is_floating_point_v<T> ? "a number" : "a whole number within its range");
}
template <>
Result<std::string> parse<std::string>(const NamedChange& change) {
  return change.value;
}
template <>
Result<bool> parse<bool>(const NamedChange& change) {
  if (change.value == "true" || change.value == "1") return true;
  if (change.value == "false" || change.value == "0") return false;
  return no_value(change, "true or false");
}
/// A placement is a function, which has no text form: only None can be written.
template <>
Result<Placement> parse<Placement>(const NamedChange& change) {
  return no_value(change, "none, the only value that can be given by name: it is a function");
}

/// Collects the changes to a config. `runtime` and `strategy` start as copies of the config's values.
struct Collected {
  RunConfigChanges changes;
  RuntimeOptions runtime;
  UpdateStrategyOptions strategy;
};
using Setter = std::function<Result<void>(Collected&, const NamedChange&)>;

template <class T>
Setter field(Setting<T> RunConfigChanges::*member) {
  return [member](Collected& collected, const NamedChange& change) -> Result<void> {
    if (is_none(change.value)) {
      collected.changes.*member = std::nullopt;
    } else {
      SHOAL_TRY(collected.changes.*member, parse<T>(change));
    }
    return {};
  };
}

template <class T>
Setter runtime_field(std::optional<T> RuntimeOptions::*member) {
  return [member](Collected& collected, const NamedChange& change) -> Result<void> {
    if (is_none(change.value)) {
      collected.runtime.*member = std::nullopt;
    } else {
      SHOAL_TRY(collected.runtime.*member, parse<T>(change));
    }
    collected.changes.runtime = collected.runtime;
    return {};
  };
}

Result<void> set_strategy(Collected& collected, const NamedChange& change) {
  if (is_none(change.value)) return invalid_argument("RunConfig: " + change.name + ": cannot be None");
  SHOAL_TRY(collected.strategy.kind, parse_update_strategy(change.value));
  collected.changes.update_strategy = collected.strategy;
  return {};
}

Result<void> set_on_sigterm(Collected& collected, const NamedChange& change) {
  if (is_none(change.value)) return invalid_argument("RunConfig: " + change.name + ": cannot be None");
  SHOAL_TRY(collected.changes.on_sigterm, parse_on_sigterm(change.value, "RunConfig: " + change.name));
  return {};
}

Setter strategy_field(std::optional<int64_t> UpdateStrategyOptions::*member) {
  return [member](Collected& collected, const NamedChange& change) -> Result<void> {
    if (is_none(change.value)) {
      collected.strategy.*member = std::nullopt;
    } else {
      SHOAL_TRY(collected.strategy.*member, parse<int64_t>(change));
    }
    collected.changes.update_strategy = collected.strategy;
    return {};
  };
}

Result<void> set_runtime(Collected& collected, const NamedChange& change) {
  if (!is_none(change.value)) return no_value(change, "none; its parts are given by runtime.threads and its like");
  collected.runtime = RuntimeOptions{};
  collected.changes.runtime = std::nullopt;
  return {};
}

Result<void> set_replicas(Collected& collected, const NamedChange& change) {
  SHOAL_TRY(collected.runtime.replicas, parse<int32_t>(change));
  collected.changes.runtime = collected.runtime;
  return {};
}

Result<void> set_heartbeat_secs(Collected& collected, const NamedChange& change) {
  SHOAL_TRY(collected.runtime.heartbeat_secs, parse<double>(change));
  collected.changes.runtime = collected.runtime;
  return {};
}

Result<void> set_lost_grace_secs(Collected& collected, const NamedChange& change) {
  SHOAL_TRY(collected.runtime.lost_grace_secs, parse<double>(change));
  collected.changes.runtime = collected.runtime;
  return {};
}

Result<void> set_compute_dtype(Collected& collected, const NamedChange& change) {
  const std::optional<DType> dtype = dtype_from_string(change.value);
  if (!dtype) return no_value(change, "float32 or bfloat16");
  collected.runtime.compute_dtype = *dtype;
  collected.changes.runtime = collected.runtime;
  return {};
}

Result<void> set_compression(Collected& collected, const NamedChange& change) {
  const Result<cluster::Compression> compression = cluster::parse_compression(change.value);
  if (!compression) return no_value(change, "none, bfloat16, float16, int8, top-k, gradients=top-k:0.01,weights=int8");
  collected.runtime.compression = *compression;
  collected.changes.runtime = collected.runtime;
  return {};
}

const std::map<std::string, Setter, std::less<>>& setters() {
  using Changes = RunConfigChanges;
  static const auto& table = forever(std::map<std::string, Setter, std::less<>>{
      {"model_dir", field(&Changes::model_dir)},
      {"spare_dir", field(&Changes::spare_dir)},
      {"metrics", field(&Changes::metrics)},
      {"save_checkpoints_steps", field(&Changes::save_checkpoints_steps)},
      {"save_checkpoints_secs", field(&Changes::save_checkpoints_secs)},
      {"save_summary_steps", field(&Changes::save_summary_steps)},
      {"log_step_count_steps", field(&Changes::log_step_count_steps)},
      {"keep_checkpoint_max", field(&Changes::keep_checkpoint_max)},
      {"keep_checkpoint_every_n_hours", field(&Changes::keep_checkpoint_every_n_hours)},
      {"random_seed", field(&Changes::random_seed)},
      {"max_worker_delay_secs", field(&Changes::max_worker_delay_secs)},
      {"ready_timeout_secs", field(&Changes::ready_timeout_secs)},
      {"save_model_description", field(&Changes::save_model_description)},
      {"accept_changed_model", field(&Changes::accept_changed_model)},
      {"allow_non_finite", field(&Changes::allow_non_finite)},
      {"update_strategy", set_strategy},
      {"replicas_to_aggregate", strategy_field(&UpdateStrategyOptions::replicas_to_aggregate)},
      {"total_replicas", strategy_field(&UpdateStrategyOptions::total_replicas)},
      {"on_sigterm", set_on_sigterm},
      {"placement", field(&Changes::placement)},
      {"runtime", set_runtime},
      {"runtime.threads", runtime_field(&RuntimeOptions::threads)},
      {"runtime.transport", runtime_field(&RuntimeOptions::transport)},
      {"runtime.backend", runtime_field(&RuntimeOptions::backend)},
      {"runtime.compute_dtype", set_compute_dtype},
      {"runtime.compression", set_compression},
      {"runtime.replicas", set_replicas},
      {"runtime.heartbeat_secs", set_heartbeat_secs},
      {"runtime.lost_grace_secs", set_lost_grace_secs},
      {"runtime.memory_limit", runtime_field(&RuntimeOptions::memory_limit)},
  });
  return table;
}

Result<RunConfigChanges> collect(std::span<const NamedChange> changes, RuntimeOptions runtime,
                                 UpdateStrategyOptions strategy) {
  Collected collected{.changes = {}, .runtime = std::move(runtime), .strategy = strategy};
  for (const NamedChange& change : changes) {
    const auto setter = setters().find(change.name);
    if (setter == setters().end()) {
      const std::string allowed = comma_separated(setters(), [](const auto& entry) { return entry.first; });
      return invalid_argument("RunConfig: \"" + change.name + "\" cannot be replaced; allowed are " + allowed);
    }
    SHOAL_TRY_VOID(setter->second(collected, change));
  }
  return std::move(collected.changes);
}

}  // namespace

RunConfig RunConfig::replace(std::initializer_list<NamedChange> changes) const {
  return replace(std::span<const NamedChange>(changes.begin(), changes.size()));
}

RunConfig RunConfig::replace(std::span<const NamedChange> changes) const {
  return replace(value_or_raise(collect(changes, runtime().value_or(RuntimeOptions{}), update_strategy())));
}

}  // namespace shoal
