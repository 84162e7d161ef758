// SPDX-License-Identifier: Apache-2.0
#include "evaluate/best_result.h"

#include <algorithm>
#include <limits>

#include "evaluate/best_evaluation.h"
#include "model/export_format.h"
#include "shoal/base/finite.h"
#include "shoal/estimator/export_names.h"

namespace shoal {
namespace {

using History = std::map<int64_t, Metrics>;  // Metrics by global step.

constexpr uint64_t kDescriptionBytesMax = uint64_t(256) << 20;

/// The step of the newest export. Nothing if there is no export, or if export.json cannot be read, which is logged.
std::optional<int64_t> newest_exported_step(const ExportRequest& request, const std::string& exporter) {
  Storage& storage = request.env.storage();
  const auto exports = exports_in(storage, request.export_path);
  if (!exports && exports.error().kind() == ErrorKind::kNotFound) return std::nullopt;
  const std::vector<std::string>& names = value_or_raise(exports);
  for (auto name = names.rbegin(); name != names.rend(); ++name) {
    const std::string path = join_path(join_path(request.export_path, *name), kExportFile);
    const Result<std::string> text = storage.read_all(path, kDescriptionBytesMax);
    // There is no export.json: this folder is not an export, or another process is just removing it.
    if (!text && text.error().kind() == ErrorKind::kNotFound) continue;
    const auto description = decode_export(value_or_raise(text));
    if (description) return description->global_step;
    request.env.log().warning("export " + exporter + ": " + path + ": " + description.error().message() +
                              "; the best of all earlier evaluations is to be beaten, in the place of this export's");
    return std::nullopt;
  }
  return std::nullopt;
}

History read_history(const ExportRequest& request, const BestRule& rule, std::optional<int64_t> without) {
  PastEvaluations past = value_or_raise(read_evaluations(request.env.storage(), rule.event_folder, without));
  for (const Error& error : past.damage) request.env.log().warning("export " + rule.exporter + ": " + error.message());
  return std::move(past.by_step);
}

/// Removes from the history all results that the user's `compare` cannot compare with `current`.
void keep_comparable(History& history, const Metrics& current, const ExportRequest& request, const BestRule& rule) {
  std::string why;
  const size_t all = history.size();
  std::erase_if(history, [&](const auto& entry) {
    const Metrics& metrics = entry.second;
    const auto is_nan = call_user("compare", [&] {
      static_cast<void>(rule.compare(metrics, current));
      return compares_nan(rule.compare, metrics);
    });
    if (is_nan && !*is_nan) return false;
    if (why.empty())
      why = "the one at global step " + std::to_string(entry.first) + ": " +
            (is_nan ? "the compared value is NaN" : is_nan.error().message());
    return true;
  });
  if (why.empty()) return;
  request.env.log().info("export " + rule.exporter + ": " + std::to_string(all - history.size()) + " of " +
                         std::to_string(all) + " earlier evaluations are passed over, since they cannot be compared (" +
                         why + ")");
}

}  // namespace

bool compares_nan(const CompareMetrics& compare, const Metrics& metrics) {
  Metrics low = metrics, high = metrics;
  bool any = false;
  for (const auto& [name, value] : metrics) {
    if (!is_nan(value)) continue;
    any = true;
    low[name] = -std::numeric_limits<double>::infinity();
    high[name] = std::numeric_limits<double>::infinity();
  }
  // `low` and `high` are copies of `metrics` with each NaN replaced by -infinity and by infinity, respectively. So if
  // `compare` calls one of the two copies better, its outcome depends on a metric that is NaN.
  return any && (compare(low, high) || compare(high, low));
}

Metrics as_recorded(const Metrics& metrics) {
  Metrics recorded = metrics;
  for (auto& [name, value] : recorded) {
    if (name != "global_step") value = double(float(value));
  }
  return recorded;
}

std::optional<ResultToBeat> result_to_beat(const ExportRequest& request, const BestRule& rule) {
  const Metrics current = as_recorded(request.eval_result);
  // Compares the result with itself: if the user's `compare` throws even for this result alone, the caller gets the
  // exception. In keep_comparable() it would only remove older results.
  static_cast<void>(rule.compare(current, current));
  const int64_t now = int64_t(current.at("global_step"));
  const std::optional<int64_t> exported = newest_exported_step(request, rule.exporter);
  History history = read_history(request, rule, exported == now ? std::nullopt : std::optional(now));
  keep_comparable(history, current, request, rule);
  if (const auto found = exported ? history.find(*exported) : history.end(); found != history.end()) {
    return ResultToBeat{found->first, found->second, true};
  }
  std::optional<ResultToBeat> best;
  for (const auto& [step, metrics] : history) {
    if (!best || rule.compare(best->metrics, metrics)) best = ResultToBeat{step, metrics, false};
  }
  return best;
}

}  // namespace shoal
