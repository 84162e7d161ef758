// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Hooks: a user's own code around the steps of training, evaluation and prediction. All callbacks of one task run on one
/// thread, one at a time, and may block. What they throw ends the run and comes out of it unchanged.
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shoal/backends/machine_limits.h"
#include "shoal/base/environment.h"
#include "shoal/base/std_function.h"
#include "shoal/base/tensor.h"
#include "shoal/graph/graph.h"

namespace shoal {

namespace monitor {
class EventWriter;
}
namespace backends {
class KernelObserver;
}

/// Values of a graph under names.
using NamedValues = std::vector<std::pair<std::string, Value>>;

/// What a model names, and what it is.
struct ModelName {
  std::string name;
  Value value = {};                 ///< Invalid for a name that is taken by something else than a value, as a metric.
  std::string_view what = "value";  ///< For errors: "prediction", "summary".
};

/// What begin() gets: the graph may still be added to, and values be named for fetching.
class HookSetup {
 public:
  /// `named`: what value() finds beside the nodes of the graph, and other names of the model.
  explicit HookSetup(Graph& graph, Value loss, std::vector<ModelName> named = {});
  Graph& graph() { return graph_; }
  Value loss() const { return loss_; }  ///< The value is invalid in prediction, which has no loss.
  /// A value of the model by its name: one of EstimatorSpec::named_values, else "loss", the name of a prediction or of a
  /// summary, else the full name of a variable ("dense/kernel"), an input ("features/age") or any other node of the graph,
  /// whose first output is given. Raises NotFound, listing names, if there is none, and InvalidArgument where the loss, a
  /// prediction and a summary of this name are different values.
  Value value(std::string_view name) const;
  /// What else in the model has this name than `value`: "the loss", "a metric", "a variable". Empty: nothing. Nodes of the graph
  /// that are no variables or inputs, whose names the layers make, do not count.
  std::string other_of_name(std::string_view name, const Value& value) const;
  /// Makes `value` available to StepRequest::fetch under `name`. Two hooks may use one name for one value; for two
  /// values: InvalidArgument (raised).
  void fetch(std::string name, Value value);
  /// Makes `value` available in end() as RunContext::final_value(`name`). Names as in fetch().
  void fetch_at_end(std::string name, Value value);
  const NamedValues& fetches() const { return fetches_; }
  const NamedValues& fetches_at_end() const { return fetches_at_end_; }

 private:
  Graph& graph_;
  Value loss_;
  std::vector<ModelName> named_;
  NamedValues fetches_;
  NamedValues fetches_at_end_;
};

/// What every callback sees of the run it is part of.
class RunContext {
 public:
  RunContext(const RunContext&) = delete;
  RunContext& operator=(const RunContext&) = delete;
  Environment& env() { return env_; }
  Logger& log() { return env_.log(); }
  SteadyTime now() const { return env_.now(); }
  /// The newest global step that this task knows of.
  uint64_t global_step() const { return global_step_; }
  /// Steps (batches) of this task in this run.
  uint64_t iterations() const { return iterations_; }
  bool is_chief() const { return is_chief_; }
  const std::string& model_dir() const { return model_dir_; }
  /// Where training summaries go; null where this task writes none.
  monitor::EventWriter* summaries() { return summaries_; }
  /// What the machine of this task does at most with `threads` threads; its host measures it (task_host.h), which takes
  /// about half a second.
  backends::MachineLimits machine_limits(int threads) const;
  /// A variable as the last update left it; the view is valid during the callback. Raises NotFound if training has no
  /// variable `name`, and FailedPrecondition where the model lies on parameter servers, and in evaluation and prediction.
  TensorView variable(std::string_view name) const;
  /// In end(): whether there are final values. In training they are computed by the task that writes checkpoints (the local
  /// process, the chief, the master), once, from the last weights and the last batch of this task; in evaluation and
  /// prediction by each task. A run without a step has none, and neither has one that ended for values that are not finite.
  bool has_final_values() const { return has_final_values_; }
  /// A value that HookSetup::fetch_at_end() named; the view is valid during the callback. Raises FailedPrecondition where
  /// there are none, and NotFound for another name.
  TensorView final_value(std::string_view name) const;
  /// How many checkpoints this task has written in this run.
  uint64_t saves() const { return saves_; }
  /// How many evaluations this task has made in this run while it also trained.
  uint64_t evaluations() const { return evaluations_; }
  /// For whoever evaluates within training: tells hooks that results of another evaluation are written, so that early stopping
  /// looks at them after this step.
  void note_evaluation() { ++evaluations_; }
  /// Ends the run after the current iteration; all remaining hooks of the iteration still run.
  void request_stop() { stop_requested_ = true; }
  bool stop_requested() const { return stop_requested_; }

 protected:  // The loop that owns the context calls these.
  using MeasureLimits = std::function<backends::MachineLimits(int threads)>;
  using ReadVariable = std::function<Result<TensorView>(std::string_view name)>;
  RunContext(Environment& env, MeasureLimits measure_limits);
  ~RunContext() = default;
  void set_global_step(uint64_t step) { global_step_ = step; }
  void count_iteration() { ++iterations_; }
  void count_save() { ++saves_; }
  void clear_stop() { stop_requested_ = false; }
  void set_final_values(std::vector<std::pair<std::string, Tensor>> values);
  void read_variables_by(ReadVariable read);
  void set_task(bool is_chief, std::string model_dir, monitor::EventWriter* summaries);

 private:
  Environment& env_;
  MeasureLimits measure_limits_;
  ReadVariable read_variable_;  // Empty where nothing is trained.
  uint64_t global_step_ = 0;
  uint64_t iterations_ = 0;
  uint64_t saves_ = 0;
  uint64_t evaluations_ = 0;
  std::vector<std::pair<std::string, Tensor>> final_values_;
  bool has_final_values_ = false;
  bool is_chief_ = true;
  bool stop_requested_ = false;
  std::string model_dir_;
  monitor::EventWriter* summaries_ = nullptr;
};

/// What before_step() gets: it says what this step shall fetch and be fed.
class StepRequest {
 public:
  /// The values named in begin() are fetched with this step (all of them: one request serves every hook).
  void fetch() { fetch_ = true; }
  /// Replaces input `input` ("features", "labels", "features/<name>") of this step. Two feeds of one input in a step:
  /// InvalidArgument naming it (raised).
  void feed(std::string input, Tensor tensor);

  /// Tells `observer` of each kernel of this step. A second one in a step: FailedPrecondition (raised).
  void observe(backends::KernelObserver& observer);

  bool fetches() const { return fetch_; }
  const std::vector<std::pair<std::string, Tensor>>& feeds() const { return feeds_; }
  backends::KernelObserver* observer() const { return observer_; }
  void clear();

 private:
  bool fetch_ = false;
  std::vector<std::pair<std::string, Tensor>> feeds_;
  backends::KernelObserver* observer_ = nullptr;
};

/// What after_step() gets: what the step gave. Views are valid during the callback.
class StepValues {
 public:
  /// The loss of this task's batch, before the update; with --replicas of the first one that was computed.
  double loss() const { return loss_; }
  int64_t examples() const { return examples_; }  ///< The examples in this task's batch.
  /// True if this step fetched.
  bool fetched() const { return fetched_; }
  /// A value named in begin(). Raises FailedPrecondition if this step did not fetch, NotFound if there is no such name.
  const TensorView& operator[](std::string_view name) const;

  // What follows is for the loop that owns it.
  void set(double loss, int64_t examples, bool fetched) { loss_ = loss, examples_ = examples, fetched_ = fetched; }
  std::vector<std::pair<std::string, TensorView>>& values() { return values_; }
  const std::vector<std::pair<std::string, TensorView>>& values() const { return values_; }

 private:
  double loss_ = 0;
  int64_t examples_ = 0;
  bool fetched_ = false;
  std::vector<std::pair<std::string, TensorView>> values_;
};

/// Order of calls: all begin() in list order; the model is made ready; all after_ready(); per iteration all before_step(),
/// the step, all after_step(); at a clean end all end(). After a recovery after_ready() is called again, begin() is not.
/// At the end of input, and after an error, the open iteration has no after_step(); after an error there is no end(), and
/// none where the task gives way (OnSigterm::kLeave), for nothing has ended: what a hook holds its destructor closes. A worker
/// that is through calls end() when the end of the job is announced: if a server is lost before that, after_ready() and more
/// steps come first.
///
/// A hook serves one task: make it inside the program's body, which runs once per task. With --cluster the tasks are
/// threads of one process, and one made outside would be called by several of them at once.
class Hook {
 public:
  virtual ~Hook() = default;
  virtual void begin([[maybe_unused]] HookSetup& setup) {}
  virtual void after_ready([[maybe_unused]] RunContext& run) {}
  virtual void before_step([[maybe_unused]] RunContext& run, [[maybe_unused]] StepRequest& request) {}
  virtual void after_step([[maybe_unused]] RunContext& run, [[maybe_unused]] const StepValues& values) {}
  virtual void end([[maybe_unused]] RunContext& run) {}
  /// Whether it is a nan_guard() that asks for a stop where others fail. It is asked here rather than by a cast, because a
  /// class of a program that is compiled without type information (-fno-rtti) cannot be cast.
  virtual bool is_quiet_nan_guard() const { return false; }
};

/// Told about checkpoints, on the task that writes them. Made inside the program's body, as hooks are.
class CheckpointListener {
 public:
  virtual ~CheckpointListener() = default;
  /// Called before the first save of a run.
  virtual void begin() {}
  /// Called before a save; `global_step` is that of the state that is about to be written.
  virtual void before_save([[maybe_unused]] RunContext& run, [[maybe_unused]] uint64_t global_step) {}
  /// Called after a save; `prefix` is that of the checkpoint just written ("m/model.ckpt-200"). True to stop.
  virtual bool after_save([[maybe_unused]] RunContext& run, [[maybe_unused]] uint64_t global_step,
                          [[maybe_unused]] const std::string& prefix) {
    return false;
  }
  /// Called after the last save, at a clean end. `global_step` is that of the newest checkpoint.
  virtual void end([[maybe_unused]] RunContext& run, [[maybe_unused]] uint64_t global_step) {}
};

}  // namespace shoal
