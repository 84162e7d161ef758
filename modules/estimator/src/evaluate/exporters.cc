#include "shoal/base/finite.h"
#include "shoal/estimator/estimator.h"
#include "shoal/estimator/export_names.h"
#include "shoal/estimator/exporter.h"
#include "shoal/monitor/event_reader.h"

namespace shoal {
namespace {

void check_name(const std::string& name) {
  if (name.empty()) raise(invalid_argument("an exporter needs a name"));
}

void check_keep(const std::string& name, const std::optional<int64_t>& keep) {
  if (keep.value_or(1) <= 0) {
    raise(invalid_argument("exporter " + name + ": exports_to_keep must be greater than 0, or None to keep all"));
  }
}

/// Keeps the `keep` exports in `folder` that have the largest numbers, and `made` in any case, which another process may have
/// overtaken; everything else in `folder` is left alone.
void collect_garbage(Environment& env, const std::string& folder, const std::optional<int64_t>& keep,
                     const std::string& made) {
  if (!keep) return;
  const std::vector<std::string> exports = value_or_raise(exports_in(env.storage(), folder));
  const size_t surplus = exports.size() > size_t(*keep) ? exports.size() - size_t(*keep) : 0;
  for (size_t i = 0; i < surplus; ++i) {
    const std::string path = join_path(folder, exports[i]);
    if (path == made) continue;
    Result<void> removed = env.storage().remove_all(path);
    if (!removed) env.log().warning("export: an old export could not be deleted: " + removed.error().message());
  }
}

std::string export_now(const ExportRequest& request, const InputFn& serving_input) {
  return request.estimator.export_model(request.export_path, serving_input,
                                        {.checkpoint = request.checkpoint_path, .assets = {}});
}

/// No comparison says so, whatever it compares: such an evaluation is never the best.
bool has_nan_loss(const Metrics& metrics) {
  const auto loss = metrics.find("loss");
  return loss != metrics.end() && is_nan(loss->second);
}

class LatestExporter final : public Exporter {
 public:
  LatestExporter(std::string name, LatestExporterOptions options) : name_(std::move(name)), options_(options) {}
  const std::string& name() const override { return name_; }
  std::optional<std::string> export_model(const ExportRequest& request) override {
    std::string path = export_now(request, request.serving_input);
    collect_garbage(request.env, request.export_path, options_.exports_to_keep, path);
    return path;
  }

 private:
  std::string name_;
  LatestExporterOptions options_;
};

class FinalExporter final : public Exporter {
 public:
  explicit FinalExporter(std::string name) : name_(std::move(name)) {}
  const std::string& name() const override { return name_; }
  bool final_only() const override { return true; }
  std::optional<std::string> export_model(const ExportRequest& request) override {
    if (!request.is_the_final_export) return std::nullopt;
    return export_now(request, request.serving_input);
  }

 private:
  std::string name_;
};

class BestExporter final : public Exporter {
 public:
  BestExporter(std::string name, BestExporterOptions options) : name_(std::move(name)), options_(std::move(options)) {}
  const std::string& name() const override { return name_; }
  std::optional<std::string> export_model(const ExportRequest& request) override {
    if (has_nan_loss(request.eval_result)) {
      request.env.log().warning("export " + name_ + ": the loss of the evaluation at global step " +
                                std::to_string(int64_t(request.eval_result.at("global_step"))) +
                                " is NaN, so it is no best one, and not exported");
      return std::nullopt;
    }
    const auto best = best_.find(request.estimator.model_dir());
    if (best == best_.end()) {
      check_history(request);
    } else if (!options_.compare(best->second, request.eval_result)) {
      return std::nullopt;
    }
    std::string path = export_now(request, request.serving_input);
    best_.insert_or_assign(request.estimator.model_dir(), request.eval_result);
    collect_garbage(request.env, request.export_path, options_.exports_to_keep, path);
    return path;
  }

 private:
  void check_history(const ExportRequest& request) const;

  std::string name_;
  BestExporterOptions options_;
  std::map<std::string, Metrics> best_;  // The best result that was exported, by model_dir.
};

/// The first decision of a process for a model_dir exports in any case and takes that result as the best (CONTRACT EX-6);
/// what earlier processes reached is told, since the export to come may be worse.
void BestExporter::check_history(const ExportRequest& request) const {
  const std::string folder =
      options_.event_dir ? join_path(request.estimator.model_dir(), *options_.event_dir) : request.estimator.eval_dir();
  std::map<int64_t, Metrics> history;
  const auto damage =
      value_or_raise(monitor::read_events(request.env.storage(), folder, [&](const monitor::EventValue& value) {
        if (value.kind == monitor::EventValue::Kind::kScalar) history[value.global_step][value.tag] = value.scalar;
        return true;
      }));
  for (const Error& error : damage) request.env.log().warning("export " + name_ + ": " + error.message());
  const int64_t now = int64_t(request.eval_result.at("global_step"));
  std::optional<Metrics> best;
  for (const auto& [step, metrics] : history) {
    const bool counts = step != now && !has_nan_loss(metrics);
    if (counts && (!best || options_.compare(*best, metrics))) best = metrics;
  }
  if (best && !options_.compare(*best, request.eval_result)) {
    request.env.log().info("export " + name_ +
                           ": an earlier evaluation was better; the first one of this process is "
                           "exported all the same");
  }
}

}  // namespace

std::shared_ptr<Exporter> latest_exporter(std::string name, LatestExporterOptions options) {
  check_name(name);
  check_keep(name, options.exports_to_keep);
  return std::make_shared<LatestExporter>(std::move(name), options);
}

std::shared_ptr<Exporter> final_exporter(std::string name) {
  check_name(name);
  return std::make_shared<FinalExporter>(std::move(name));
}

bool smaller_loss(const Metrics& best, const Metrics& current) {
  const auto before = best.find("loss"), now = current.find("loss");
  if (before == best.end() || now == current.end()) {
    raise(invalid_argument("best_exporter: an evaluation without `loss`; give a compare function of your own"));
  }
  return now->second < before->second || (is_nan(before->second) && !is_nan(now->second));
}

std::shared_ptr<Exporter> best_exporter(std::string name, BestExporterOptions options) {
  check_name(name);
  check_keep(name, options.exports_to_keep);
  if (!options.compare) raise(invalid_argument("exporter " + name + ": a compare function is required"));
  return std::make_shared<BestExporter>(std::move(name), std::move(options));
}

}  // namespace shoal
