// SPDX-License-Identifier: Apache-2.0
// Shoal's own exporters.
#include "shoal/estimator/exporter.h"

#include "evaluate/best_result.h"
#include "evaluate/compiled_model.h"
#include "evaluate/form_writer.h"
#include "shoal/base/finite.h"
#include "shoal/estimator/estimator.h"
#include "shoal/estimator/export_names.h"
#include "task/temporary_files.h"

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

/// Renames an export to a hidden name and then deletes it. If the process is killed or the host loses its power during the
/// deletion, no export is visible that lacks some of its files. The next process deletes what has a hidden name.
Result<void> remove_export(Environment& env, const std::string& folder, const std::string& name) {
  Storage& storage = env.storage();
  const std::string hidden = join_path(folder, std::string(kUnfinishedExport) + storage.unique_name());
  SHOAL_TRY_VOID(storage.rename(join_path(folder, name), hidden));
  const Result<void> synced = storage.sync_folder(folder);
  // FailedPrecondition: this storage cannot sync folders.
  if (!synced && synced.error().kind() != ErrorKind::kFailedPrecondition) return synced.error();
  return storage.remove_all(hidden);
}

/// Keeps the `keep` exports in `folder` with the largest numbers, and always `made`, even if another process has made newer
/// ones. Everything else in `folder` is left alone.
void collect_garbage(Environment& env, const std::string& folder, const std::optional<int64_t>& keep,
                     const std::string& made) {
  if (!keep) return;
  const std::vector<std::string> exports = value_or_raise(exports_in(env.storage(), folder));
  const size_t surplus = exports.size() > size_t(*keep) ? exports.size() - size_t(*keep) : 0;
  for (size_t i = 0; i < surplus; ++i) {
    const std::string path = join_path(folder, exports[i]);
    if (path == made) continue;
    Result<void> removed = remove_export(env, folder, exports[i]);
    if (!removed) env.log().warning("export: an old export could not be deleted: " + removed.error().message());
  }
}

/// What the exporter's options ask for: the format of the export, and the proof that an export in this format predicts as
/// the model does.
struct Form {
  ExportFormat format;
  ExportProof proof;

  std::vector<std::string> obstacles(const Estimator& estimator, const InputFn& serving_input) const {
    if (format == ExportFormat::kShoal) return {};
    std::vector<std::string> obstacles = estimator.export_obstacles(format, serving_input);
    const bool compiles = proof.input && (format == ExportFormat::kCpp || format == ExportFormat::kCppInt8);
    if (compiles) {
      if (std::string none = CompiledModel::obstacle(); !none.empty()) obstacles.push_back(std::move(none));
    }
    return obstacles;
  }
};

void check_form(const std::string& name, const Form& form) {
  const Result<void> checked = check_proof(form.format, form.proof);
  if (!checked) raise(Error(checked.error()).with_context("exporter " + name));
}

/// Exports, and returns the folder. If the options ask for a proof that the files predict as the model does, and the proof
/// fails, returns nothing: that is logged, but does not end the task.
std::optional<std::string> export_now(const std::string& name, const ExportRequest& request, const Form& form) {
  ExportOutcome outcome = value_or_raise(
      export_checkpoint(request.estimator, request.export_path, request.serving_input,
                        {.checkpoint = request.checkpoint_path, .assets = {}, .format = form.format, .proof = form.proof}));
  if (outcome.refusal.empty()) return std::move(outcome.path);
  request.env.log().error("export " + name + ": " + outcome.refusal);
  return std::nullopt;
}

/// An evaluation whose loss is NaN is never the best, even if the comparison does not use the loss.
bool has_nan_loss(const Metrics& metrics) {
  const auto loss = metrics.find("loss");
  return loss != metrics.end() && is_nan(loss->second);
}

class LatestExporter final : public Exporter {
 public:
  LatestExporter(std::string name, LatestExporterOptions options)
      : name_(std::move(name)), keep_(options.exports_to_keep), form_{options.format, std::move(options.proof)} {}
  const std::string& name() const override { return name_; }
  std::optional<std::string> export_model(const ExportRequest& request) override {
    std::optional<std::string> path = export_now(name_, request, form_);
    if (path) collect_garbage(request.env, request.export_path, keep_, *path);
    return path;
  }
  std::vector<std::string> obstacles(const Estimator& estimator, const InputFn& serving_input) const override {
    return form_.obstacles(estimator, serving_input);
  }

 private:
  std::string name_;
  std::optional<int64_t> keep_;
  Form form_;
};

class FinalExporter final : public Exporter {
 public:
  FinalExporter(std::string name, FinalExporterOptions options)
      : name_(std::move(name)), form_{options.format, std::move(options.proof)} {}
  const std::string& name() const override { return name_; }
  bool final_only() const override { return true; }
  std::optional<std::string> export_model(const ExportRequest& request) override {
    if (!request.is_the_final_export) return std::nullopt;
    return export_now(name_, request, form_);
  }
  std::vector<std::string> obstacles(const Estimator& estimator, const InputFn& serving_input) const override {
    return form_.obstacles(estimator, serving_input);
  }

 private:
  std::string name_;
  Form form_;
};

class BestExporter final : public Exporter {
 public:
  BestExporter(std::string name, BestExporterOptions options) : name_(std::move(name)), options_(std::move(options)) {}
  const std::string& name() const override { return name_; }
  std::optional<std::string> export_model(const ExportRequest& request) override {
    const Metrics& current = request.eval_result;
    if (has_nan_loss(current) || compares_nan(options_.compare, current)) {
      tell_of_nan(request);
      return std::nullopt;
    }
    const std::string& model_dir = request.estimator.model_dir();
    const std::string newest = newest_export(request);
    const auto found = best_.find(model_dir);
    const bool first = found == best_.end();
    Best best = first ? first_to_beat(request) : found->second;
    // Another evaluator of this folder has exported since the last call, so its result is the one to beat.
    if (!first && newest > best.newest) take_over(best, request);
    best.newest = newest;
    if (!is_better(best, current)) {
      if (first) tell_of_first_skip(best, request);
      best_.insert_or_assign(model_dir, std::move(best));
      return std::nullopt;
    }
    std::optional<std::string> path = export_now(name_, request, {options_.format, options_.proof});
    if (!path) {
      best_.insert_or_assign(model_dir, std::move(best));
      return path;
    }
    best_.insert_or_assign(model_dir, Best{.result = current, .newest = path->substr(path->rfind('/') + 1)});
    collect_garbage(request.env, request.export_path, options_.exports_to_keep, *path);
    return path;
  }
  std::vector<std::string> obstacles(const Estimator& estimator, const InputFn& serving_input) const override {
    return Form{options_.format, options_.proof}.obstacles(estimator, serving_input);
  }

 private:
  /// The result that the next evaluation has to beat.
  struct Best {
    std::optional<Metrics> result;  // The metrics to beat. None: the next evaluation is the best in any case.
    bool recorded = false;          // True if `result` was read from event files, so that its values are float32 numbers.
    int64_t global_step = 0;        // If `recorded` is true: the step of `result`.
    bool exported = false;          // True if `recorded` is true, and the newest export was made at the step of `result`.
    std::string newest = {};        // The name of the newest export when `result` was found.
  };

  bool is_better(const Best& best, const Metrics& current) const {
    return !best.result || options_.compare(*best.result, best.recorded ? as_recorded(current) : current);
  }
  BestRule rule(const ExportRequest& request) const {
    return {.exporter = name_,
            .compare = options_.compare,
            .event_folder = options_.event_dir ? join_path(request.estimator.model_dir(), *options_.event_dir)
                                               : request.estimator.eval_dir()};
  }
  Best first_to_beat(const ExportRequest& request) const {
    const std::optional<ResultToBeat> past = result_to_beat(request, rule(request));
    if (!past) return {};
    return {.result = past->metrics, .recorded = true, .global_step = past->global_step, .exported = past->exported};
  }
  void take_over(Best& best, const ExportRequest& request) const {
    const Best found = first_to_beat(request);
    if (found.exported) best = found;
  }
  /// The name of the newest export; "" if there is none.
  static std::string newest_export(const ExportRequest& request) {
    const auto exports = exports_in(request.env.storage(), request.export_path);
    if (!exports && exports.error().kind() == ErrorKind::kNotFound) return "";
    const std::vector<std::string>& names = value_or_raise(exports);
    return names.empty() ? "" : names.back();
  }
  void tell_of_nan(const ExportRequest& request) const;
  void tell_of_first_skip(const Best& best, const ExportRequest& request) const;

  std::string name_;
  BestExporterOptions options_;
  std::map<std::string, Best> best_;  // By model_dir.
};

void BestExporter::tell_of_nan(const ExportRequest& request) const {
  const std::string what = has_nan_loss(request.eval_result) ? "the loss" : "the compared value";
  request.env.log().warning("export " + name_ + ": " + what + " of the evaluation at global step " +
                            std::to_string(int64_t(request.eval_result.at("global_step"))) +
                            " is NaN, so this evaluation is not the best one and is not exported");
}

/// Logs why the first evaluation after a start is not exported. After a restart there may be no export for a while, and the
/// user should see that this is intended.
void BestExporter::tell_of_first_skip(const Best& best, const ExportRequest& request) const {
  request.env.log().info("export " + name_ + ": an earlier evaluation, at global step " + std::to_string(best.global_step) +
                         (best.exported ? ", from which the newest export was made," : "") +
                         " was as good or better, so this one is not exported");
}

}  // namespace

std::vector<std::string> Exporter::obstacles(const Estimator&, const InputFn&) const { return {}; }

std::shared_ptr<Exporter> latest_exporter(std::string name, LatestExporterOptions options) {
  check_name(name);
  check_keep(name, options.exports_to_keep);
  check_form(name, {options.format, options.proof});
  return std::make_shared<LatestExporter>(std::move(name), std::move(options));
}

std::shared_ptr<Exporter> onnx_exporter(std::string name, LatestExporterOptions options) {
  options.format = ExportFormat::kOnnx;
  return latest_exporter(std::move(name), std::move(options));
}

std::shared_ptr<Exporter> final_exporter(std::string name, FinalExporterOptions options) {
  check_name(name);
  check_form(name, {options.format, options.proof});
  return std::make_shared<FinalExporter>(std::move(name), std::move(options));
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
  check_form(name, {options.format, options.proof});
  return std::make_shared<BestExporter>(std::move(name), std::move(options));
}

CompareMetrics by_smaller_loss() { return smaller_loss; }

}  // namespace shoal
