// SPDX-License-Identifier: Apache-2.0
#include "evaluate/opened_export.h"

#include <algorithm>

#include "model/export_files.h"
#include "model/memory_files.h"
#include "model/signatures.h"
#include "shoal/graph/graph_json.h"

namespace shoal {
namespace {

ValueType value_type(const ExportedTensor& tensor) {
  std::vector<Dim> dims;
  auto axis = tensor.axes.begin();
  for (int64_t size : tensor.shape) {
    dims.push_back(size >= 0 ? Dim(size) : Dim::symbol(axis == tensor.axes.end() ? kBatchAxis : *axis++));
  }
  return {tensor.dtype, DimShape(std::move(dims))};
}

Result<EstimatorSpec> spec_of(Graph& graph, const ExportDescription& description) {
  EstimatorSpec spec;
  spec.mode = Mode::kPredict;
  for (const ExportedOutput& output : description.outputs) {
    const auto node =
        std::find_if(graph.nodes().begin(), graph.nodes().end(), [&](const Node& n) { return n.name == output.node; });
    if (node == graph.nodes().end() || output.output < 0 || size_t(output.output) >= node->outputs.size()) {
      return data_loss("prediction " + output.tensor.name + " is not in the graph");
    }
    spec.predictions.emplace_back(output.tensor.name, Value(&graph, NodeId(node - graph.nodes().begin()), output.output));
  }
  for (const ExportedText& text : description.texts) {
    std::shared_ptr<const Vocabulary> vocabulary;
    if (!text.vocabulary.empty()) {
      SHOAL_TRY(Vocabulary names, Vocabulary::make(text.vocabulary));
      vocabulary = std::make_shared<const Vocabulary>(std::move(names));
    }
    spec.text_predictions.push_back(text.by_position
                                        ? nn::TextPrediction::of_positions(text.name, text.source, std::move(vocabulary))
                                        : nn::TextPrediction(text.name, text.source, std::move(vocabulary)));
  }
  if (auto checked = check_text_predictions(spec); !checked) return data_loss(checked.error().message());
  spec.export_outputs = description.signatures;
  if (auto checked = check_signatures(spec.export_outputs, spec); !checked) return data_loss(checked.error().message());
  return spec;
}

/// The model's inputs as export.json lists them. They have to match those of the graph. An input that no node reads may be
/// missing in the graph.
Result<InputTypes> inputs_of(Graph& graph, const std::vector<ExportedTensor>& inputs) {
  InputTypes types;
  for (const ExportedTensor& input : inputs) {
    types.features.emplace_back(input.name, value_type(input));
    const ValueType& stated = types.features.back().second;
    const Value value = graph.find(input_name("features", input.name));
    if (!value.valid() || value.type() == stated) continue;
    return data_loss("input \"" + input.name + "\" is " + std::string(to_string(stated.dtype)) + " " +
                     to_string(stated.shape) + " there, and " + std::string(to_string(value.dtype())) + " " +
                     to_string(value.shape()) + " in " + std::string(kExportGraph));
  }
  return types;
}

/// Opens one export: finds its files, checks them and reads them.
class ExportOpener {
 public:
  ExportOpener(Environment& env, Storage& storage, const std::string& folder, std::shared_ptr<const OpCatalogue> ops)
      : env_(env), storage_(storage), folder_(folder), ops_(std::move(ops)), files_(&storage) {}
  Result<OpenedExport> open();

 private:
  Result<std::shared_ptr<Graph>> read_graph();
  std::string path_of(std::string_view name) const { return join_path(folder_, name); }

  Environment& env_;
  Storage& storage_;
  const std::string& folder_;
  const std::shared_ptr<const OpCatalogue> ops_;
  MemoryFiles files_;  // Files that passed the check of their checksums; all other files are read from the storage.
};

/// Reads the graph. An op that this program lacks, or has in another version, is not reported as damage.
Result<std::shared_ptr<Graph>> ExportOpener::read_graph() {
  SHOAL_TRY(const std::string text, read_export_graph(folder_, files_));
  auto graph = graph_from_json(text, ops_.get());
  if (graph) return with_ops(std::move(graph).value(), ops_);
  const ErrorKind kind = graph.error().kind();
  if (kind == ErrorKind::kNotFound || kind == ErrorKind::kFailedPrecondition)
    return std::move(graph).error().with_context("export " + folder_);
  return damaged_export(folder_, path_of(kExportGraph), graph.error().message());
}

Result<OpenedExport> ExportOpener::open() {
  OpenedExport opened;
  SHOAL_TRY(opened.description, read_export_description(storage_, folder_, files_));
  SHOAL_TRY(opened.graph, read_graph());
  Graph& graph = *opened.graph;
  const auto misfit = [this](const Error& error) { return damaged_export(folder_, path_of(kExportFile), error.message()); };
  auto spec = spec_of(graph, opened.description);
  if (!spec) return misfit(spec.error());
  opened.spec = std::move(spec).value();
  opened.description.signatures = signatures_of(opened.spec);
  const auto types = inputs_of(graph, opened.description.inputs);
  if (!types) return misfit(types.error());
  Result<ReadInputs> inputs = read_inputs(graph, opened.spec, opened.description.inputs);
  if (!inputs) return damaged_export(folder_, path_of(kExportGraph), inputs.error().message());
  opened.inputs = std::move(inputs).value();
  SHOAL_TRY(opened.types, inputs_of(graph, opened.inputs.read));
  SHOAL_TRY(const auto reader, open_exported_variables(files_, folder_));
  // verify() checks the weights' files as a whole, with their headers. load() alone would only check the bytes of weights.
  SHOAL_TRY_VOID(reader->verify());
  SHOAL_TRY(opened.variables, LoadedVariables::load(env_, graph, *reader));
  return opened;
}

}  // namespace

Result<OpenedExport> open_export(Environment& env, Storage& storage, const std::string& folder,
                                 std::shared_ptr<const OpCatalogue> ops) {
  return ExportOpener(env, storage, folder, std::move(ops)).open();
}

}  // namespace shoal
