// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Hooks: a user's own code around the steps of training, evaluation and prediction. All callbacks of one task run on one
/// thread, one at a time, and may block. If a callback throws an exception, the run ends, and its caller gets this
/// exception unchanged.
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

/// Values of a graph, each with a name.
using NamedValues = std::vector<std::pair<std::string, Value>>;

/// A name in the model, and what has this name: a value of the graph, or something else such as a metric.
struct ModelName {
  std::string name;
  Value value = {};                 ///< The value of this name; invalid if the name stands for a metric or other thing.
  std::string_view what = "value";  ///< The kind of thing, for errors: "prediction", "summary".
};

/// The argument of begin(): lets a hook add to the graph, and name values for fetching.
class HookSetup {
 public:
  /// `named`: names in the model that are not names of graph nodes, such as those of predictions and metrics. value() finds
  /// those that stand for a value of the graph.
  explicit HookSetup(Graph& graph, Value loss, std::vector<ModelName> named = {});
  Graph& graph() { return graph_; }
  Value loss() const { return loss_; }  ///< The value is invalid in prediction, which has no loss.
  /// Finds a value of the model by name. Names are looked up in this order: those of EstimatorSpec::named_values; "loss"
  /// and the names of predictions and summaries; the full names of variables ("dense/kernel"), inputs ("features/age") and
  /// all other nodes of the graph, whose first output is returned. Raises NotFound, listing names, if there is none, and
  /// InvalidArgument if the loss, a prediction and a summary of this name are different values.
  Value value(std::string_view name) const;
  /// Says what else in the model has this name with another value: "the loss", "a metric", "a variable". Empty:
  /// nothing. Nodes of the graph that are neither variables nor inputs do not count, because layers make their names.
  std::string other_of_name(std::string_view name, const Value& value) const;
  /// Names `value`: after_step() reads it as StepValues[`name`] after each step for which a hook called
  /// StepRequest::fetch(). Two hooks may use one name for one value. Raises InvalidArgument if a name is used for two values.
  void fetch(std::string name, Value value);
  /// Makes `value` available in end() as RunContext::final_value(`name`). The rules for names are those of fetch().
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

/// Gives a hook's callbacks access to the current run.
class RunContext {
 public:
  RunContext(const RunContext&) = delete;
  RunContext& operator=(const RunContext&) = delete;
  Environment& env() { return env_; }
  Logger& log() { return env_.log(); }
  SteadyTime now() const { return env_.now(); }
  /// The newest global step that this task knows of.
  uint64_t global_step() const { return global_step_; }
  /// How many steps (batches) this task has made in this run.
  uint64_t iterations() const { return iterations_; }
  bool is_chief() const { return is_chief_; }
  const std::string& model_dir() const { return model_dir_; }
  /// The writer of training summaries; null where this task writes none.
  monitor::EventWriter* summaries() { return summaries_; }
  /// The rates of arithmetic and memory of this task's machine with `threads` threads. The task's host measures them
  /// (task_host.h), which takes about half a second.
  backends::MachineLimits machine_limits(int threads) const;
  /// A variable as the last update left it; the view is valid during the callback. Raises NotFound if training has no
  /// variable `name`, and FailedPrecondition if parameter servers hold the model, and in evaluation and prediction.
  TensorView variable(std::string_view name) const;
  /// In end(): whether the values named with HookSetup::fetch_at_end() were computed. In training only the task that writes
  /// checkpoints (the local process, the chief, the master) computes them, once, from the last weights and its own last
  /// batch; in evaluation and prediction each task does. Nobody does if the run made no step, or ended because of values
  /// that are not finite.
  bool has_final_values() const { return has_final_values_; }
  /// The value that HookSetup::fetch_at_end() named `name`; the view is valid during the callback. Raises
  /// FailedPrecondition if has_final_values() is false, and NotFound for an unknown name.
  TensorView final_value(std::string_view name) const;
  /// How many checkpoints this task has written in this run.
  uint64_t saves() const { return saves_; }
  /// How many evaluations this task has made within this training run.
  uint64_t evaluations() const { return evaluations_; }
  /// A hook that evaluates within training calls this function after each evaluation, so that hooks for early stopping read
  /// the new results after this step.
  void note_evaluation() { ++evaluations_; }
  /// Ends the run after the current iteration; all remaining hooks of the iteration still run.
  void request_stop() { stop_requested_ = true; }
  bool stop_requested() const { return stop_requested_; }

 protected:  // The training loop that owns the context calls these functions.
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
  ReadVariable read_variable_;  // Empty in evaluation and prediction.
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

/// The argument of before_step(). With it a hook fetches values in this step, feeds inputs, or observes kernels.
class StepRequest {
 public:
  /// Makes this step also compute the values that hooks named in begin(). One call is enough for the values of all hooks.
  void fetch() { fetch_ = true; }
  /// Replaces the input `input` ("features", "labels", "features/<name>") in this step. Raises InvalidArgument, naming the
  /// input, if it is fed twice in one step.
  void feed(std::string input, Tensor tensor);

  /// Tells `observer` of each kernel of this step. Raises FailedPrecondition for a second observer in one step.
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

/// The argument of after_step(): the results of the step. Views are valid during the callback.
class StepValues {
 public:
  /// The loss of this task's batch, before the update. With --replicas it is that of the first replica.
  double loss() const { return loss_; }
  int64_t examples() const { return examples_; }  ///< The examples in this task's batch.
  /// True if this step fetched the values named in begin().
  bool fetched() const { return fetched_; }
  /// A value named in begin(). Raises FailedPrecondition if this step did not fetch, NotFound if there is no such name.
  const TensorView& operator[](std::string_view name) const;
  /// The numbers by which the train op scales the updates of this step, such as "learning_rate", by their names. Of several
  /// with one name the second is "learning_rate_2", and so on. Empty in evaluations and predictions.
  const std::vector<std::pair<std::string, double>>& scalars() const { return scalars_; }

  // Hooks do not call the functions below: the training loop, which makes the object, does.
  void set(double loss, int64_t examples, bool fetched) { loss_ = loss, examples_ = examples, fetched_ = fetched; }
  std::vector<std::pair<std::string, TensorView>>& values() { return values_; }
  const std::vector<std::pair<std::string, TensorView>>& values() const { return values_; }
  std::vector<std::pair<std::string, double>>& scalars() { return scalars_; }

 private:
  double loss_ = 0;
  int64_t examples_ = 0;
  bool fetched_ = false;
  std::vector<std::pair<std::string, TensorView>> values_;
  std::vector<std::pair<std::string, double>> scalars_;
};

/// Order of calls: all begin() in list order; the model is made ready; all after_ready(); per iteration all before_step(),
/// the step, all after_step(); at a clean end all end(). After a recovery after_ready() is called again, begin() is not.
///
/// The iteration in which the input ends or an error occurs has no after_step(). end() is not called after an error,
/// nor if the task stops to be started again (OnSigterm::kLeave): release resources in the hook's destructor. A worker
/// that has finished its steps calls end() when the end of the job is announced; if a server is lost before that,
/// after_ready() and more steps come first.
///
/// A hook serves one task: make it inside the program's body, which runs once per task. With --cluster the tasks are
/// threads of one process, and several of them would call a hook made outside at once.
class Hook {
 public:
  virtual ~Hook() = default;
  virtual void begin([[maybe_unused]] HookSetup& setup) {}
  virtual void after_ready([[maybe_unused]] RunContext& run) {}
  virtual void before_step([[maybe_unused]] RunContext& run, [[maybe_unused]] StepRequest& request) {}
  virtual void after_step([[maybe_unused]] RunContext& run, [[maybe_unused]] const StepValues& values) {}
  virtual void end([[maybe_unused]] RunContext& run) {}
  /// Whether this hook is a nan_guard() that stops training without an error (NanGuardOptions::fail is false). This is a
  /// virtual function because dynamic_cast does not work in programs that are compiled without type information
  /// (-fno-rtti).
  virtual bool is_quiet_nan_guard() const { return false; }
};

/// Receives news of checkpoints, on the task that writes them. Make it where hooks are made: in the function that each task
/// runs.
class CheckpointListener {
 public:
  virtual ~CheckpointListener() = default;
  /// Called before the first save of a run.
  virtual void begin() {}
  /// Called before a save; `global_step` is the step of the state that is about to be written.
  virtual void before_save([[maybe_unused]] RunContext& run, [[maybe_unused]] uint64_t global_step) {}
  /// Called after a save; `prefix` names the checkpoint just written ("m/model.ckpt-200"). Returns true to stop training.
  virtual bool after_save([[maybe_unused]] RunContext& run, [[maybe_unused]] uint64_t global_step,
                          [[maybe_unused]] const std::string& prefix) {
    return false;
  }
  /// Called after the last save, at a clean end; `global_step` is the step of the newest checkpoint.
  virtual void end([[maybe_unused]] RunContext& run, [[maybe_unused]] uint64_t global_step) {}
};

}  // namespace shoal
