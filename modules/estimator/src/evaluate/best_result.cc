#include "evaluate/best_result.h"

#include <algorithm>
#include <limits>

#include "model/export_format.h"
#include "shoal/base/finite.h"
#include "shoal/estimator/export_names.h"
#include "shoal/monitor/event_reader.h"

namespace shoal {
namespace {

using History = std::map<int64_t, Metrics>;  // By global step.

constexpr uint64_t kDescriptionBytesMax = uint64_t(256) << 20;

/// The step of the newest export. Nothing where there is none, or where it cannot be read, which is told.
std::optional<int64_t> newest_exported_step(const ExportRequest& request, const std::string& exporter) {
  Storage& storage = request.env.storage();
  const auto exports = exports_in(storage, request.export_path);
  if (!exports && exports.error().kind() == ErrorKind::kNotFound) return std::nullopt;
  const std::vector<std::string>& names = value_or_raise(exports);
  for (auto name = names.rbegin(); name != names.rend(); ++name) {
    const std::string path = join_path(join_path(request.export_path, *name), kExportFile);
    const Result<std::string> text = storage.read_all(path, kDescriptionBytesMax);
    if (!text && text.error().kind() == ErrorKind::kNotFound) continue;  // It is a folder of others, or is being removed.
    const auto description = decode_export(value_or_raise(text));
    if (description) return description->global_step;
    request.env.log().warning("export " + exporter + ": " + path + ": " + description.error().message() +
                              "; the best of all earlier evaluations is to be beaten, in the place of this export's");
    return std::nullopt;
  }
  return std::nullopt;
}

/// Reads results by step. An evaluation of a checkpoint ends with the text `checkpoint_path`, by which its numbers are told from
/// those that others write into the folder. A history of other programs may have no such text at all: then all numbers count.
class HistoryReader {
 public:
  void take(const monitor::EventValue& value) {
    using Kind = monitor::EventValue::Kind;
    if (value.kind == Kind::kScalar) numbers_[value.global_step][value.tag] = value.scalar;
    if (value.kind != Kind::kText || value.tag != "checkpoint_path") return;
    const auto found = numbers_.extract(value.global_step);
    if (!found.empty()) evaluations_[value.global_step] = found.mapped();
  }
  History history(std::optional<int64_t> without) && {
    if (without) {
      numbers_.erase(*without);
      evaluations_.erase(*without);
    }
    History history = std::move(evaluations_.empty() ? numbers_ : evaluations_);
    for (auto& [step, metrics] : history) metrics.set_count("global_step", double(step));
    return history;
  }

 private:
  History numbers_;      // No checkpoint_path has come behind these.
  History evaluations_;  // Of one step the last in the order of the files counts.
};

History read_history(const ExportRequest& request, const BestRule& rule, std::optional<int64_t> without) {
  HistoryReader reader;
  const auto take = [&reader](const monitor::EventValue& value) {
    reader.take(value);
    return true;
  };
  const auto damage = value_or_raise(monitor::read_events(request.env.storage(), rule.event_folder, take));
  for (const Error& error : damage) request.env.log().warning("export " + rule.exporter + ": " + error.message());
  return std::move(reader).history(without);
}

/// Takes out of the history what cannot be compared with `current`.
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
            (is_nan ? "what is compared is NaN" : is_nan.error().message());
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
  // Two results that differ in nothing else are told apart only by a comparison that looks at one of these metrics.
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
  static_cast<void>(rule.compare(current, current));  // What raises for this result itself is no fault of the history.
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
