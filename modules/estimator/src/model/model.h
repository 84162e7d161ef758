// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A model of one mode, built from its model_fn: the graph with its inputs, and the programs compiled from it.
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/initial_values.h"
#include "shoal/backends/backend.h"
#include "shoal/cluster/shard_plan.h"
#include "shoal/data/element.h"
#include "shoal/data/iterator.h"
#include "shoal/estimator/estimator.h"
#include "shoal/estimator/hook.h"
#include "shoal/estimator/model_fn.h"
#include "shoal/graph/text_ids.h"
#include "task/memory_budget.h"

namespace shoal {

/// Types of a dataset's elements, the first dimension of each tensor being the batch.
struct InputTypes {
  std::vector<std::pair<std::string, ValueType>> features;
  std::vector<std::pair<std::string, ValueType>> labels;
};
/// The symbol that the first axis of every input is.
inline constexpr char kBatchAxis[] = "batch";

/// Those of `batch`, where `varying` names axes that are symbols. InvalidArgument if a tensor has no batch dimension, sizes
/// differ that have to be equal, or `varying` names an input or axes that are not there.
Result<InputTypes> input_types(const data::Batch& batch, const VaryingAxes& varying);
/// The common first size of all tensors of `batch`.
Result<int64_t> batch_size(const data::Batch& batch);

struct BuildRequest {
  const ModelFn& model_fn;
  Mode mode;
  const Params& params;
  const RunConfig& config;
  RandomKey seed;
  std::shared_ptr<const OpCatalogue> ops = nullptr;  ///< Null: Shoal's alone.
};

/// Shoal's ops and these; null, which stands for Shoal's alone, without any.
Result<std::shared_ptr<const OpCatalogue>> catalogue_of(std::vector<OpDef> own);
/// The graph, which keeps the ops that it knows.
std::shared_ptr<Graph> with_ops(std::unique_ptr<Graph> graph, std::shared_ptr<const OpCatalogue> ops);

/// One compiled program and where its inputs come from.
struct BoundProgram {
  std::unique_ptr<backends::Program> program;
  struct Source {
    bool label = false;
    size_t index = 0;  ///< An index into the TensorMap.
    std::string name;  ///< The name of the graph input, such as "features", "features/<name>" or "labels".
    Shape shape;
    DType dtype;
    std::optional<TextEncoding> encoding = {};  ///< What makes ids of the tensor.
    const nn::StepInput* step_input = nullptr;  ///< Set: a number of the step, and no part of the batch.
  };
  std::vector<Source> sources;
  std::vector<TensorView> inputs;  ///< Memory that every run uses again.
  std::vector<Tensor> ids;         ///< What encodings made of this batch, and numbers of the step, by source.
};

/// Gives the memory of a program's variables, in its order, which stays valid while the function lives.
using BindVariables = std::function<Result<std::vector<backends::Pieces>>(const backends::Program& program)>;

class BuiltModel {
 public:
  /// Calls model_fn once. Its exceptions come back as errors that raise() throws unchanged. Errors of CONTRACT EST-7:
  /// a required field is missing, the loss is not one element, a metric has a reserved name, another mode's spec.
  static Result<std::unique_ptr<BuiltModel>> build(const BuildRequest& request, const InputTypes& types);

  /// A PREDICT model that was described before: `spec` names its predictions in `graph`. Several models may share a graph,
  /// which nobody changes then, and predict on threads of their own.
  static std::unique_ptr<BuiltModel> from_graph(std::shared_ptr<Graph> graph, EstimatorSpec spec, InputTypes types);

  Graph& graph() { return *graph_; }
  const Graph& graph() const { return *graph_; }
  EstimatorSpec& spec() { return spec_; }
  const EstimatorSpec& spec() const { return spec_; }
  const InputTypes& types() const { return types_; }
  const InitialValues& initial_values() const { return initial_values_; }

  /// What hooks' begin() gets of this model.
  HookSetup hook_setup();
  /// Computes `values` from `batch` by a program of their own, which is not kept.
  Result<std::vector<std::pair<std::string, Tensor>>> compute_once(const NamedValues& values, const data::Batch& batch,
                                                                   const BindVariables& bind, backends::StepKey key);

  /// What programs read and write, set before the first compile. `always`: fetched by every program, `sometimes`: by
  /// the fetching ones only, after those. `update_variables`: the variable that each update changes.
  void set_values(std::vector<Value> always, std::vector<Value> sometimes, std::vector<Value> updates,
                  std::vector<std::string> update_variables = {});
  void use_backend(std::unique_ptr<backends::Backend> backend, int threads, DType compute_dtype) {
    backend_ = std::move(backend);
    threads_ = threads;
    compute_dtype_ = compute_dtype;
  }
  /// Gives the graph another seed, before any program has run: those that are compiled are compiled anew.
  void reseed(RandomKey seed) {
    graph_->set_seed(seed);
    programs_.clear();
  }
  /// Says of programs that are compiled how large their memory plans are, as long as there are few. Null, the default: says
  /// nothing.
  void log_plans_to(Logger* log) { log_ = log; }
  /// program() refuses a program that takes more memory than `budget` has room for. Default: a budget without a limit.
  /// `measures_again`: the budget is measured once more when the first program is compiled, since a backend generates code then. That is
  /// right only while no memory of another part has been written to.
  void use_budget(MemoryBudget budget, bool measures_again) {
    budget_ = std::move(budget);
    measures_again_ = measures_again;
  }
  MemoryBudget& budget() { return budget_; }
  backends::Numerics numerics() const;

  /// What each symbol of the inputs is in `batch`. InvalidArgument if it is two things, or the batch has other names.
  Result<SymbolSizes> sizes_of(const data::Batch& batch) const;
  /// The same for a batch that is as small as can be.
  SymbolSizes smallest_sizes() const;
  /// The program for batches of these sizes; compiled on first use, the eight last used are kept.
  Result<BoundProgram*> program(const SymbolSizes& sizes, bool fetching);
  /// The global step whose numbers feed() gives to a train op that asks for some (nn::StepInput).
  void set_global_step(uint64_t step) { global_step_ = step; }
  /// Points the program's inputs at `batch`, whose sizes_of() it was compiled for, or at the ids of its texts.
  /// InvalidArgument if the batch does not fit the model.
  Result<void> feed(BoundProgram& program, const data::Batch& batch, std::span<const std::pair<std::string, Tensor>> feeds);

 private:
  BuiltModel() = default;
  Result<void> check_spec(Mode mode);
  void log_plan(const backends::ProgramInfo& info, const SymbolSizes& sizes);
  Result<void> check_memory(const SymbolSizes& sizes);
  Result<void> check_predictions() const;
  Result<void> check_named_values();
  Result<void> check_twice() const;
  Result<void> check_feeds(std::span<const std::pair<std::string, Tensor>> feeds) const;
  Result<void> bind_sources(BoundProgram& program) const;
  const nn::StepInput* step_input(std::string_view name) const;
  Result<void> feed_step(const nn::StepInput& input, Tensor& number) const;
  /// Whose text or numbers the input of this name in the graph is fed with, and how it is encoded.
  Result<EncodedInput> fed_from(const std::string& input) const;

  struct Compiled {
    SymbolSizes sizes;
    bool fetching;
    BoundProgram program;
  };
  std::shared_ptr<Graph> graph_;  // Shared by models of from_graph() alone.
  EstimatorSpec spec_;
  InputTypes types_;
  InitialValues initial_values_;
  std::unique_ptr<backends::Backend> backend_;
  int threads_ = 1;
  Logger* log_ = nullptr;
  MemoryBudget budget_;
  bool measures_again_ = false;  // Until the first program is compiled.
  DType compute_dtype_ = DType::kFloat32;
  std::vector<Value> always_, sometimes_, updates_;
  std::vector<std::string> update_variables_;
  std::list<Compiled> programs_;  // The most recently used comes first.
  int64_t plans_logged_ = 0;
  uint64_t global_step_ = 0;
};

/// Says of an `error` about a row of `batch`, which `input` gave last, where that row was read, if the input knows: "...; that
/// row is jan.csv, line 12".
Error with_place_of_row(Error error, const data::Batch& batch, const data::Iterator& input);
/// The same, and adds the `number` of the batch in its input, counted from 1, to the error by which a model refuses it. Rows
/// that the error names count within the batch.
Error in_batch(Error error, uint64_t number, const data::Batch& batch, const data::Iterator& input);

/// A variable of `model` as servers see it, without the rule of its updates: how it starts.
cluster::VariableSpec cluster_variable(const BuiltModel& model, const Variable& variable);

/// The name of a graph input: "features" for a lone tensor, "features/<name>" in a map.
std::string input_name(std::string_view part, std::string_view name);

}  // namespace shoal
