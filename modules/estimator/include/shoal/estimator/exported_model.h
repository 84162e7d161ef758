// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A model that was exported: a folder with a graph and its weights, loaded without the program that trained it.
///
/// The folder (named by ten digits, see export_names.h):
///   export.json   what this is: format version, global step, inputs and outputs (see export_format.h), and the other files
///                 with their checksums
///   graph.json    the graph of PREDICT, as Graph::to_json() writes it
///   variables/    the weights, as a checkpoint folder: checksums included
///   assets/       what the program added
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
  std::string name;  ///< The feature or prediction; "" for a lone tensor.
  DType dtype = DType::kFloat32;
  std::vector<int64_t> shape;  ///< A size of -1 is the batch, or another that varies.
  /// What the sizes of -1 are, in order: those of one name are equal in a call. Empty: all are "batch".
  std::vector<std::string> axes{};
};

struct ProfileOptions {
  int64_t batch = 32;  ///< How many examples each run has, at least 1; and the size of other axes that vary.
  int64_t runs = 50;   ///< How many runs are measured, after three that are not; at least 1.
};

/// Any thread, and any number of threads at once: equal features have equal predictions, bit for bit, whoever else predicts.
/// As many predictions run at once as the process has cores; further callers wait until one of them has ended. The weights are
/// there once; what a prediction computes lies in memory of its own, for the last eight sizes of batches each. A thread that
/// predicts with a large model has helpers (RuntimeOptions::threads) for as long as it lives, so a few threads that stay
/// are better than one for each call.
///
/// A loaded model needs no file: its folder may be moved, replaced or deleted. The model has to outlive all calls of it.
/// The `try_` forms give as values what the others raise (docs/errors.md).
class ExportedModel {
 public:
  virtual ~ExportedModel() = default;
  virtual int64_t global_step() const = 0;
  /// The features that predictions are computed from. predict() also accepts the model's other features, and ignores them.
  virtual const std::vector<ExportedTensor>& inputs() const = 0;
  /// The predictions: those of the graph, then text that is made of them.
  virtual const std::vector<ExportedTensor>& outputs() const = 0;
  /// All predictions for a batch of features, by key. Raises InvalidArgument if they do not fit inputs().
  data::TensorMap predict(const data::TensorMap& features);
  virtual Result<data::TensorMap> try_predict(const data::TensorMap& features) = 0;
  /// How the model can be called, the default first.
  virtual const std::vector<nn::ExportSignature>& signatures() const = 0;
  /// What one signature gives, by the names of its outputs. InvalidArgument, too, where no signature has that name.
  data::TensorMap predict(const data::TensorMap& features, std::string_view signature);
  virtual Result<data::TensorMap> try_predict(const data::TensorMap& features, std::string_view signature) = 0;
  /// Where the time of predictions goes, measured on generated features: uniform in [-1, 1), integers 0. Predictions of
  /// other threads go on meanwhile, and are part of what is measured. Raises InvalidArgument if an option is out of range.
  backends::Profile profile(const ProfileOptions& options = {});
  virtual Result<backends::Profile> try_profile(const ProfileOptions& options = {}) = 0;
};

/// The files of an export by their names in its folder: "export.json", "graph.json", "variables/checkpoint", ... For a model
/// that is part of a program, or was downloaded. std::as_bytes(std::span(text)) makes such bytes of a string or an array.
using ExportBytes = std::map<std::string, std::span<const std::byte>>;

/// What an export says of itself. It can be read without the ops of a program's own that its graph has.
struct ExportContents {
  int64_t global_step = 0;
  std::vector<ExportedTensor> inputs;   ///< All features of the model, also those that no prediction is computed from.
  std::vector<ExportedTensor> outputs;  ///< As ExportedModel::outputs().
  std::vector<nn::ExportSignature> signatures;
  std::vector<ExportedTensor> variables;  ///< The weights.
  std::map<std::string, int64_t>
      lacking_ops;  ///< Ops of the graph that Shoal does not have, with their versions (0: none).
};
/// Reads no weights, and computes nothing. Errors: those of load_exported_model(), but for ops that are not there.
ExportContents describe_export(const std::string& folder);
Result<ExportContents> try_describe_export(const std::string& folder);

// Ops of the program's own that the model uses (Estimator::use_ops()) are not part of an export: `ops` brings them, as
//   load_exported_model(folder, {}, {squash()});
// An op of the graph that is neither there nor Shoal's is NotFound, and one of another version FailedPrecondition, naming it.

/// Loads all of the export in `folder`, and compares it with its checksums, assets too. (An export of a version before
/// 2026-11-27 has those of its weights alone: damage to its other files can go unnoticed.) Raises NotFound if there is no
/// export in `folder`, DataLoss naming the file if one is damaged or missing, FailedPrecondition for a format of another
/// version.
std::unique_ptr<ExportedModel> load_exported_model(const std::string& folder, RuntimeOptions runtime = {},
                                                   std::vector<OpDef> ops = {});
Result<std::unique_ptr<ExportedModel>> try_load_exported_model(const std::string& folder, RuntimeOptions runtime = {},
                                                               std::vector<OpDef> ops = {});
/// Loads the export `folder` of a storage of the caller's. Only its open(), read_at() and exists() are called, and only during
/// this call.
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
