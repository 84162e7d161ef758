// SPDX-License-Identifier: Apache-2.0
// describe_export(): reads the description of an export without its graph.
#include "model/export_files.h"
#include "model/signatures.h"
#include "shoal/estimator/exported_model.h"
#include "shoal/estimator/task_host.h"
#include "shoal/graph/graph_json.h"

namespace shoal {
namespace {

/// Returns the signatures of an export. If an older version of Shoal wrote the export, it lists none: then returns one
/// signature with all predictions.
std::vector<nn::ExportSignature> signatures_in(const ExportDescription& description) {
  if (!description.signatures.empty()) return description.signatures;
  nn::ExportSignature all{.name = std::string(nn::kDefaultSignature), .outputs = {}};
  for (const ExportedTensor& output : outputs_of(description)) all.outputs.emplace_back(output.name, output.name);
  return {std::move(all)};
}

Result<ExportContents> describe(Storage& storage, const std::string& folder) {
  MemoryFiles files(&storage);
  SHOAL_TRY(const ExportDescription description, read_export_description(storage, folder, files));
  SHOAL_TRY(const std::string graph, read_export_graph(folder, files));
  ExportContents contents{.global_step = description.global_step,
                          .inputs = description.inputs,
                          .outputs = outputs_of(description),
                          .signatures = signatures_in(description),
                          .variables = {},
                          .lacking_ops = {}};
  auto lacking = lacking_ops(graph);
  if (!lacking && lacking.error().kind() == ErrorKind::kFailedPrecondition)
    return std::move(lacking).error().with_context("export " + folder);
  if (!lacking) return damaged_export(folder, join_path(folder, kExportGraph), lacking.error().message());
  contents.lacking_ops = std::move(lacking).value();
  SHOAL_TRY(const auto reader, open_exported_variables(files, folder));
  for (const checkpoint::TensorEntry& tensor : reader->manifest().tensors) {
    const auto dims = tensor.shape.dims();
    contents.variables.push_back({tensor.name, tensor.dtype, {dims.begin(), dims.end()}, {}});
  }
  return contents;
}

}  // namespace

ExportContents describe_export(const std::string& folder) { return value_or_raise(try_describe_export(folder)); }

Result<ExportContents> try_describe_export(const std::string& folder) {
  const RunConfig config;
  const std::shared_ptr<Environment> env = make_call_environment(config);
  return describe(env->storage(), folder);
}

}  // namespace shoal
