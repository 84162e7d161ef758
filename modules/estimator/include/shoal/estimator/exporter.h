// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Exporters decide how a model leaves for production: called after each evaluation, in whichever task evaluates.
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
  std::string checkpoint_path;  ///< The prefix of the evaluated checkpoint.
  const Metrics& eval_result;
  const InputFn& serving_input;  ///< Gives the features that the exported model takes: the evaluation's.
  bool is_the_final_export = false;
};

/// An exporter remembers what it exported: it serves one task, and is made inside the program's body, as hooks are.
class Exporter {
 public:
  virtual ~Exporter() = default;
  virtual const std::string& name() const = 0;
  /// The folder written, or nothing if skipped. What it throws ends the evaluating task.
  virtual std::optional<std::string> export_model(const ExportRequest& request) = 0;
  /// Reasons why this exporter cannot export the model, each a sentence. They are asked for before training begins, which ends
  /// then with InvalidArgument. `serving_input`: as in ExportRequest.
  virtual std::vector<std::string> obstacles(const Estimator& estimator, const InputFn& serving_input) const;
  /// True for exporters that write only at the final export, for the warning that one never did (CONTRACT EX-10).
  virtual bool final_only() const { return false; }
};

struct LatestExporterOptions {
  std::optional<int64_t> exports_to_keep = 5;  ///< None to keep all.
  ExportFormat format = ExportFormat::kShoal;  ///< What is added to the files that Shoal loads.
  /// The evidence that the added file has to give. An export without that evidence is not published, which is an error in the log; training goes
  /// on, and the last good export stays the newest.
  ExportProof proof = {};
};
/// Exports after every evaluation. Raises InvalidArgument for exports_to_keep <= 0 or an empty name.
std::shared_ptr<Exporter> latest_exporter(std::string name, LatestExporterOptions options = {});
/// The same with ExportFormat::kOnnx, whatever `options` say of the format.
std::shared_ptr<Exporter> onnx_exporter(std::string name, LatestExporterOptions options = {});

struct FinalExporterOptions {
  ExportFormat format = ExportFormat::kShoal;  ///< As LatestExporterOptions::format.
  ExportProof proof = {};                      ///< As LatestExporterOptions::proof.
};
/// Exports once, after the evaluation of the checkpoint that has reached TrainSpec::max_steps. Where training ends earlier (by
/// early stopping, the end of the input, or a signal), it makes no export and warns of that. best_exporter() and
/// latest_exporter() do not wait for that step.
std::shared_ptr<Exporter> final_exporter(std::string name, FinalExporterOptions options = {});

/// True if `current` is better than `best`.
using CompareMetrics = std::function<bool(const Metrics& best, const Metrics& current)>;
/// The default: a smaller loss; any number is better than NaN. Raises InvalidArgument if either result lacks it.
bool smaller_loss(const Metrics& best, const Metrics& current);
CompareMetrics by_smaller_loss();  ///< The same, as what BestExporterOptions takes.

struct BestExporterOptions {
  std::optional<int64_t> exports_to_keep = 5;
  CompareMetrics compare = by_smaller_loss();
  /// Where past results are read at the first decision of a process, below model_dir; default: the unnamed evaluation's.
  std::optional<std::string> event_dir = {};
  ExportFormat format = ExportFormat::kShoal;  ///< As LatestExporterOptions::format.
  /// As LatestExporterOptions::proof. A result whose export is not published does not have to be beaten in this
  /// process; a restart goes by the history of results.
  ExportProof proof = {};
};
/// Exports whenever an evaluation is strictly better than the best one so far. At its first decision for a model_dir it
/// reads past results from event_dir: to be beaten is the result at the step of the newest export in its folder, or the
/// best past result where there is no such export; without past results the first evaluation is exported. (What the history
/// says of the step that is evaluated now counts only if the newest export is of it: a process may have been killed before
/// its export.) Past results that lack what is compared are passed over. A result whose loss is NaN, or what `compare`
/// compares, is never exported. Raises InvalidArgument without a compare function, for exports_to_keep <= 0 or an empty
/// name; what `compare` raises for the current evaluation ends the evaluating task.
std::shared_ptr<Exporter> best_exporter(std::string name, BestExporterOptions options = {});

}  // namespace shoal
