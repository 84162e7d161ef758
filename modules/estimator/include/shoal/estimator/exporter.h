// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Exporters write models for production. The task that evaluates calls them after each evaluation.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shoal/base/environment.h"
#include "shoal/base/std_function.h"
#include "shoal/estimator/export_form.h"
#include "shoal/estimator/input_fn.h"
#include "shoal/estimator/metrics.h"

namespace shoal {

class Estimator;

struct ExportRequest {
  Environment& env;
  const Estimator& estimator;
  std::string export_path;      ///< The folder model_dir/export/<exporter name>.
  /// The prefix of the evaluated checkpoint. Training may have deleted it; `estimator` can still export it.
  std::string checkpoint_path;
  const Metrics& eval_result;
  const InputFn& serving_input;  ///< The evaluation's input, which gives the features that the exported model takes.
  bool is_the_final_export = false;
};

/// An exporter remembers its exports, so it can serve one task only: each task has to make its own, as it does with hooks.
class Exporter {
 public:
  virtual ~Exporter() = default;
  virtual const std::string& name() const = 0;
  /// Returns the folder that was written, or nothing if this export was skipped. An exception ends the evaluating task.
  virtual std::optional<std::string> export_model(const ExportRequest& request) = 0;
  /// Reasons why this exporter cannot export the model, each a sentence. train_and_evaluate() asks for them before
  /// training, and ends with InvalidArgument if there is one. `serving_input`: as in ExportRequest.
  virtual std::vector<std::string> obstacles(const Estimator& estimator, const InputFn& serving_input) const;
  /// True for exporters that write only after the last step. When the evaluating task ends, a warning names each such
  /// exporter that never wrote.
  virtual bool final_only() const { return false; }
};

struct LatestExporterOptions {
  std::optional<int64_t> exports_to_keep = 5;  ///< None to keep all.
  ExportFormat format = ExportFormat::kShoal;  ///< Which files an export has beside Shoal's own. kShoal: none.
  /// How each export is checked: whether the files that `format` adds compute the same as the model. If they do not, an
  /// error is logged and the export is not published. Training goes on, and the last good export stays the newest.
  ExportProof proof = {};
};
/// Exports after every evaluation. Raises InvalidArgument for exports_to_keep <= 0 or an empty name.
std::shared_ptr<Exporter> latest_exporter(std::string name, LatestExporterOptions options = {});
/// Like latest_exporter() with options.format = ExportFormat::kOnnx.
std::shared_ptr<Exporter> onnx_exporter(std::string name, LatestExporterOptions options = {});

struct FinalExporterOptions {
  ExportFormat format = ExportFormat::kShoal;  ///< As LatestExporterOptions::format.
  ExportProof proof = {};                      ///< As LatestExporterOptions::proof.
};
/// Exports once, after the evaluation of the checkpoint that has reached TrainSpec::max_steps. If training ends earlier (by
/// early stopping, the end of the input, or a signal), the exporter writes nothing and a warning says so. best_exporter()
/// and latest_exporter() do not wait for that step.
std::shared_ptr<Exporter> final_exporter(std::string name, FinalExporterOptions options = {});

/// Returns true if `current` is better than `best`.
using CompareMetrics = std::function<bool(const Metrics& best, const Metrics& current)>;
/// The default: a smaller loss is better, and any number is better than NaN. Raises InvalidArgument if either result lacks
/// the loss.
bool smaller_loss(const Metrics& best, const Metrics& current);
CompareMetrics by_smaller_loss();  ///< smaller_loss() as a value for BestExporterOptions::compare.

struct BestExporterOptions {
  std::optional<int64_t> exports_to_keep = 5;
  CompareMetrics compare = by_smaller_loss();
  /// The folder below model_dir with the event files of past evaluations, which each process reads before its first export.
  /// Default: the folder of evaluations without a name.
  std::optional<std::string> event_dir = {};
  ExportFormat format = ExportFormat::kShoal;  ///< As LatestExporterOptions::format.
  /// As LatestExporterOptions::proof. If the proof fails, the evaluation's result does not become the best one so far,
  /// which later results have to beat. After a restart the exporter takes the best result so far from the event files
  /// (best_exporter()).
  ExportProof proof = {};
};
/// Exports whenever an evaluation is strictly better than the best one so far.
///
/// At its first decision for a model_dir the exporter reads the results of past evaluations from event_dir, and takes one
/// of them as the best so far: the result at the step of the newest export in the exporter's folder, or the best of all if
/// no result has that step. Without past results the first evaluation is exported. A past result at the step that is being
/// evaluated now is left out unless the newest export has that step, because an earlier process may have been killed after
/// it wrote the result and before it exported. Past results without the compared metric are skipped. A result is never
/// exported if its loss, or the metric that `compare` reads, is NaN.
///
/// Raises InvalidArgument without a compare function, for exports_to_keep <= 0 or an empty name. An error of `compare` for
/// the current evaluation ends the evaluating task.
std::shared_ptr<Exporter> best_exporter(std::string name, BestExporterOptions options = {});

}  // namespace shoal
