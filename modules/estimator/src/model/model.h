// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A model in one mode, built by its model_fn: the graph with its inputs, and the programs compiled from it.
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/initial_values.h"
#include "model/input_types.h"
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

struct BuildRequest {
  const ModelFn& model_fn;
  Mode mode;
  const Params& params;
  const RunConfig& config;
  RandomKey seed;
  std::shared_ptr<const OpCatalogue> ops = nullptr;  ///< Null: only Shoal's ops.
};

/// A catalogue of Shoal's ops and `own`. Null if `own` is empty: null means only Shoal's ops.
Result<std::shared_ptr<const OpCatalogue>> catalogue_of(std::vector<OpDef> own);
/// Joins a graph and the catalogue of its ops, so that the ops live as long as the graph.
std::shared_ptr<Graph> with_ops(std::unique_ptr<Graph> graph, std::shared_ptr<const OpCatalogue> ops);

/// One compiled program and where its inputs come from.
struct BoundProgram {
  std::unique_ptr<backends::Program> program;
  struct Source {
    bool label = false;
    size_t index = 0;  ///< The tensor's index in the batch's features or labels.
    std::string name;  ///< The name of the graph input, such as "features", "features/<name>" or "labels".
    Shape shape;
    DType dtype;
    std::optional<TextEncoding> encoding = {};  ///< The encoding that turns the texts or numbers of the tensor into ids.
    const nn::StepInput* step_input = nullptr;  ///< If set: a number computed from the global step, not from the batch.
  };
  std::vector<Source> sources;
  std::vector<TensorView> inputs;  ///< Views that every run fills anew, so that a step allocates nothing.
  std::vector<Tensor> ids;         ///< For each source: the ids from its `encoding`, or the number from its `step_input`.
};

/// Returns the memory of a program's variables, in the program's order. The memory stays valid as long as the function
/// object lives.
using BindVariables = std::function<Result<std::vector<backends::Pieces>>(const backends::Program& program)>;

/// What hooks feed in a step: pairs of the name of an input and the tensor that replaces it (StepRequest::feeds()).
using Feeds = std::span<const std::pair<std::string, Tensor>>;

class BuiltModel {
 public:
  /// Calls model_fn once and checks its result. Exceptions of model_fn come back as errors that raise() throws unchanged.
  /// InvalidArgument, among others: a required field is missing, the loss is not one element, a metric has a reserved name,
  /// the specification is for another mode, the input gives labels to a function that takes none.
  static Result<std::unique_ptr<BuiltModel>> build(const BuildRequest& request, const InputTypes& types);

  /// Makes a model for predictions from an existing graph, in which `spec` names the predictions. Several models may share
  /// a graph and predict at the same time, each on its own thread; nobody may change the graph then.
  static std::unique_ptr<BuiltModel> from_graph(std::shared_ptr<Graph> graph, EstimatorSpec spec, InputTypes types);

  Graph& graph() { return *graph_; }
  const Graph& graph() const { return *graph_; }
  EstimatorSpec& spec() { return spec_; }
  const EstimatorSpec& spec() const { return spec_; }
  const InputTypes& types() const { return types_; }
  const InitialValues& initial_values() const { return initial_values_; }

  /// The argument for hooks' begin().
  HookSetup hook_setup();
  /// Computes `values` from `batch` with a program that is compiled for this call only.
  Result<std::vector<std::pair<std::string, Tensor>>> compute_once(const NamedValues& values, const data::Batch& batch,
                                                                   const BindVariables& bind, backends::StepKey key);

  /// Sets the values that programs read and write. Call it before the first compilation. Every program fetches the values
  /// in `always`. A program for steps in which hooks ask for values fetches those in `sometimes`, too, and returns them
  /// last. `update_variables`: the variable that each update changes.
  void set_values(std::vector<Value> always, std::vector<Value> sometimes, std::vector<Value> updates,
                  std::vector<std::string> update_variables = {});
  void use_backend(std::unique_ptr<backends::Backend> backend, int threads, DType compute_dtype) {
    backend_ = std::move(backend);
    threads_ = threads;
    compute_dtype_ = compute_dtype;
  }
  /// Gives the graph another seed, before any program has run. Programs that were compiled already are compiled again.
  void reseed(RandomKey seed) {
    graph_->set_seed(seed);
    programs_.clear();
  }
  /// Logs the size of the memory plan of each of the first compiled programs. Null, the default: logs nothing.
  void log_plans_to(Logger* log) { log_ = log; }
  /// Lets program() refuse a program that takes more memory than `budget` has left. Default: no limit. `measures_again`:
  /// measures the process's memory once more at the first compilation, in which backends generate code. Set it only if the
  /// weights, and the other things that have an entry of their own in the budget, are not in memory yet at the first
  /// compilation. Otherwise the measured memory includes them, and they count twice.
  void use_budget(MemoryBudget budget, bool measures_again) {
    budget_ = std::move(budget);
    measures_again_ = measures_again;
  }
  MemoryBudget& budget() { return budget_; }
  backends::Numerics numerics() const;

  /// The size of each symbol of the inputs in `batch`. InvalidArgument if a symbol has two sizes, or if
  /// the batch's tensors have other names than the model's inputs.
  Result<SymbolSizes> sizes_of(const data::Batch& batch) const { return sizes_in(batch, types_); }
  /// The sizes that the symbols of the inputs have in the smallest possible batch.
  SymbolSizes smallest_sizes() const;
  /// The program for batches of these sizes, compiled on first use. The eight most recently used ones are kept.
  Result<BoundProgram*> program(const SymbolSizes& sizes, bool fetching);
  /// Sets the global step, from which feed() computes the numbers that a train op asks for (nn::StepInput).
  void set_global_step(uint64_t step) { global_step_ = step; }
  /// Points the program's inputs at `batch`, or at the ids of its texts. The program was compiled for sizes_of(batch).
  /// InvalidArgument if the batch does not fit the model. `feeds` passed check_feeds().
  Result<void> feed(BoundProgram& program, const data::Batch& batch, Feeds feeds);
  /// Refuses, with InvalidArgument, what hooks feed if its name is no input, or if its type or shape is not that of the input
  /// in `program`. The error says that a hook is wrong, since the input function is not.
  Result<void> check_feeds(const BoundProgram& program, Feeds feeds) const;

 private:
  BuiltModel() = default;
  Result<void> check_spec(Mode mode);
  void log_plan(const backends::CompiledProgramInfo& info, const SymbolSizes& sizes);
  Result<void> check_memory(const SymbolSizes& sizes);
  Result<void> check_predictions() const;
  Result<void> check_named_values();
  Result<void> check_twice() const;
  Result<void> bind_sources(BoundProgram& program) const;
  DType dtype_of(const BoundProgram::Source& source) const;
  const nn::StepInput* step_input(std::string_view name) const;
  Result<void> feed_step(const nn::StepInput& input, Tensor& number) const;
  /// How the graph input of this name is computed: from which tensor of texts or numbers, and by which encoding.
  Result<EncodedInput> fed_from(const std::string& input) const;

  struct Compiled {
    SymbolSizes sizes;
    bool fetching;
    BoundProgram program;
  };
  std::shared_ptr<Graph> graph_;  // If from_graph() made this model, other models may use the same graph.
  EstimatorSpec spec_;
  InputTypes types_;
  InitialValues initial_values_;
  std::unique_ptr<backends::Backend> backend_;
  int threads_ = 1;
  Logger* log_ = nullptr;
  MemoryBudget budget_;
  bool measures_again_ = false;  // See use_budget(). False after the first compilation.
  DType compute_dtype_ = DType::kFloat32;
  std::vector<Value> always_, sometimes_, updates_;
  std::vector<std::string> update_variables_;
  std::list<Compiled> programs_;  // The most recently used program comes first.
  int64_t plans_logged_ = 0;
  uint64_t global_step_ = 0;
};

/// `batch` is the last batch of `input`, and `feeds` replaced some of its tensors. If `error` is about a row of a feed, says
/// that a hook fed it. If it is about a row of the batch, and the input knows where that row was read, adds that to the error:
/// "...; that row is jan.csv, line 12".
Error with_place_of_row(Error error, const data::Batch& batch, const data::Iterator& input, Feeds feeds);

/// The batch of a step, and what hooks fed instead of its tensors.
struct StepBatch {
  uint64_t number = 0;  ///< The batch's number in its input, counted from 1.
  const data::Batch& batch;
  const data::Iterator& input;
  Feeds feeds;
};

/// Extends the error with which a model refuses a batch: adds what with_place_of_row() adds and, unless the error is about a feed,
/// the number of the batch. (The numbers of rows in such an error count from the start of the batch.)
Error in_batch(Error error, const StepBatch& step);

/// A variable of `model` as parameter servers see it: its shape and its initial values, without the rule of its updates.
cluster::VariableSpec cluster_variable(const BuiltModel& model, const Variable& variable);

}  // namespace shoal
