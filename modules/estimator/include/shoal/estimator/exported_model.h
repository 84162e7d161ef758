// SPDX-License-Identifier: Apache-2.0
#pragma once
/// An exported model: a folder with a graph and its weights, loaded without the program that trained it.
///
/// The folder (named by ten digits, see export_names.h):
///   export.json   format version, global step, inputs and outputs (docs/formats.md), and names and checksums of the
///                 other files
///   graph.json    the graph for kPredict, as Graph::to_json() writes it
///   variables/    the weights as a checkpoint folder, with checksums
///   assets/       files that the program added
#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/backends/profile.h"
#include "shoal/base/result.h"
#include "shoal/base/storage.h"
#include "shoal/data/element.h"
#include "shoal/estimator/run_config.h"
#include "shoal/graph/op.h"
#include "shoal/nn/export_signature.h"

namespace shoal {

struct ExportedTensor {
  std::string name;  ///< The name of the feature or prediction; "" for a lone tensor.
  DType dtype = DType::kFloat32;
  std::vector<int64_t> shape;  ///< A size of -1 is the batch, or another axis that varies.
  /// Names of the axes of size -1, in order. Axes of one name have equal sizes in a call. Empty: all are "batch".
  std::vector<std::string> axes{};
};

struct ProfileOptions {
  int64_t batch = 32;  ///< How many examples each run has, at least 1; also the size of all other axes that vary.
  int64_t runs = 50;   ///< How many runs are measured, at least 1. Three runs before them are not measured.
};

/// A loaded export. Any number of threads may use it at once: equal features give equal predictions, bit for bit, whatever
/// other threads compute. As many predictions run at once as the process has cores; further callers wait until one of them
/// has ended. All predictions share one copy of the weights; each running prediction has its own memory, for the last eight
/// batch sizes. A thread that predicts with a large model keeps helper threads (RuntimeOptions::threads) for as long as it
/// lives, so a few lasting threads are better than a new one for each call.
///
/// A loaded model needs no file: its folder may be moved, replaced or deleted. The model has to outlive all calls of it.
/// The `try_` forms return as values the errors that the other forms raise (docs/errors.md).
class ExportedModel {
 public:
  virtual ~ExportedModel() = default;
  virtual int64_t global_step() const = 0;
  /// The features that predictions are computed from. predict() also accepts the model's other features and ignores them.
  virtual const std::vector<ExportedTensor>& inputs() const = 0;
  /// The predictions: the outputs of the graph, then texts that are made from them.
  virtual const std::vector<ExportedTensor>& outputs() const = 0;
  /// All predictions for a batch of features, by key. Raises InvalidArgument if they do not fit inputs().
  data::TensorMap predict(const data::TensorMap& features);
  virtual Result<data::TensorMap> try_predict(const data::TensorMap& features) = 0;
  /// The signatures of the model, the default first.
  virtual const std::vector<nn::ExportSignature>& signatures() const = 0;
  /// The outputs of one signature by their names. Raises InvalidArgument as predict() above, and for an unknown signature.
  data::TensorMap predict(const data::TensorMap& features, std::string_view signature);
  virtual Result<data::TensorMap> try_predict(const data::TensorMap& features, std::string_view signature) = 0;
  /// Measures where the time of predictions goes, on generated features: uniform in [-1, 1), integers 0. Predictions of
  /// other threads go on meanwhile and disturb the measurement. Raises InvalidArgument if an option is out of range.
  backends::Profile profile(const ProfileOptions& options = {});
  virtual Result<backends::Profile> try_profile(const ProfileOptions& options = {}) = 0;
};

/// The files of an export by their names in its folder: "export.json", "graph.json", "variables/checkpoint", ... Use it for
/// a model that is part of a program, or was downloaded. std::as_bytes(std::span(text)) turns a string or an array into
/// such bytes.
using ExportBytes = std::map<std::string, std::span<const std::byte>>;

/// The description of an export. Reading it does not require the program's own ops that the graph uses.
struct ExportContents {
  int64_t global_step = 0;
  std::vector<ExportedTensor> inputs;   ///< All features of the model, also those that no prediction uses.
  std::vector<ExportedTensor> outputs;  ///< Like the result of ExportedModel::outputs().
  std::vector<nn::ExportSignature> signatures;
  std::vector<ExportedTensor> variables;  ///< The weights.
  std::map<std::string, int64_t>
      lacking_ops;  ///< Ops of the graph that Shoal does not have, with their versions (0: not stated).
};
/// Describes the export without reading weights or computing anything. Errors: those of load_exported_model(), except
/// that missing ops are no error.
ExportContents describe_export(const std::string& folder);
Result<ExportContents> try_describe_export(const std::string& folder);

// An export does not contain the program's own ops that its model uses (Estimator::use_ops()). The argument `ops` supplies
// them:
//   load_exported_model(folder, {}, {squash()});
// Raises NotFound for an op of the graph that neither `ops` nor Shoal has, and FailedPrecondition, naming the op, for an op
// that `ops` has in another version.

/// Loads the whole export in `folder` and checks its checksums, those of assets too. (An export of a version before
/// 2026-11-27 has checksums of only its weights: damage to its other files can go unnoticed.) Raises NotFound if there is
/// no export in `folder`, DataLoss naming the file if one is damaged or missing, FailedPrecondition for a format of another
/// version.
std::unique_ptr<ExportedModel> load_exported_model(const std::string& folder, RuntimeOptions runtime = {},
                                                   std::vector<OpDef> ops = {});
Result<std::unique_ptr<ExportedModel>> try_load_exported_model(const std::string& folder, RuntimeOptions runtime = {},
                                                               std::vector<OpDef> ops = {});
/// Loads the export `folder` from a storage of the caller's. Only its open(), read_at() and exists() are called, and only
/// during this call.
std::unique_ptr<ExportedModel> load_exported_model(Storage& storage, const std::string& folder, RuntimeOptions runtime = {},
                                                   std::vector<OpDef> ops = {});
Result<std::unique_ptr<ExportedModel>> try_load_exported_model(Storage& storage, const std::string& folder,
                                                               RuntimeOptions runtime = {}, std::vector<OpDef> ops = {});
/// Loads an export from memory. The bytes are not read after the call. Raises NotFound if no file is called "export.json".
std::unique_ptr<ExportedModel> load_exported_model(const ExportBytes& files, RuntimeOptions runtime = {},
                                                   std::vector<OpDef> ops = {});
Result<std::unique_ptr<ExportedModel>> try_load_exported_model(const ExportBytes& files, RuntimeOptions runtime = {},
                                                               std::vector<OpDef> ops = {});

}  // namespace shoal
