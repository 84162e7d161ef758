// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The training loop of every trainer, over any store: hooks, a batch, the program, the update, hooks.
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "hooks/job_metrics.h"
#include "model/model.h"
#include "shoal/base/environment.h"
#include "shoal/checkpoint/end_mark.h"
#include "shoal/cluster/store.h"
#include "shoal/cluster/update_observer.h"
#include "shoal/data/iterator.h"
#include "shoal/estimator/hook.h"
#include "shoal/monitor/task_meters.h"
#include "train/checkpoint_saver.h"
#include "train/input_watch.h"

namespace shoal {

/// Encodes the position of an input as bytes, which the store and checkpoints treat as opaque.
std::string encode_position(const data::Position& position);
Result<data::Position> decode_position(std::string_view bytes);

/// A trainer's input during training. The loop draws batches from it. After a restart or a recovery the task moves the
/// iterator to the position that the restored model has reached.
struct TrainingInput {
  std::unique_ptr<data::Iterator> iterator;
  /// A batch that was drawn to learn the types, and not trained on yet.
  std::optional<data::Batch> first_batch;
  std::string first_position;  ///< The iterator's position before first_batch; empty if the iterator has no positions.
};

struct LoopOptions {
  BuiltModel* model = nullptr;
  cluster::Store* store = nullptr;
  /// The input of this trainer, number `trainer_index`. If this process also computes for other trainers (replicas), their
  /// inputs follow.
  std::vector<TrainingInput*> inputs;
  /// The names of the values that a step with fetches returns beside the loss, in the order in which programs return them.
  std::vector<std::string> fetch_names;
  NamedValues final_values;  ///< The values that hooks get at the end (RunContext::final_value()), if this task leads.
  std::vector<std::shared_ptr<Hook>> hooks;
  CheckpointSaver* saver = nullptr;  ///< Null if this task saves no checkpoints.
  JobMetrics* metrics = nullptr;     ///< Null if this task reports no rates of the job.
  InputWatchOptions input_watch;
  std::optional<int64_t> max_steps;  ///< The global step at which training ends.
  uint64_t trainer_index = 0;
  bool allow_non_finite = false;
  /// True if a NaN or infinite value ends training without an error, rather than with NanLoss (NanGuardOptions::fail is
  /// false).
  bool stops_quietly = false;
  cluster::UpdateObserver* observer = nullptr;  ///< Null in programs: observers are for simulations and tests.
  monitor::TaskMeters* meters = nullptr;        ///< Null if the task has no endpoint for monitoring systems.
  /// Tells the leading task whether model_dir is still this run's. Called at an interval on the compute thread. An error
  /// other than Unavailable ends the training. Null: no check.
  std::function<Result<void>()> check_place;
  Duration check_place_every = std::chrono::seconds(5);
  /// Called after a server was lost. The leading task makes the model ready again, and other tasks wait until it has. Then
  /// the task moves its input to the position that the model has reached. Null if the store has no servers to lose.
  std::function<Task<Result<cluster::Ready>>()> recover;
};

struct LoopEnd {
  uint64_t global_step = 0;
  uint64_t iterations = 0;
  checkpoint::EndReason reason = checkpoint::EndReason::kEndOfInput;
};

class TrainingLoop {
 public:
  TrainingLoop(Environment& env, LoopContext& context, LoopOptions options);

  /// Trains, from the hooks' after_ready() to the last iteration. Does not save the last checkpoint and does not call the
  /// hooks' end(): finish() does. Returns an error at once, without a call of after_step() or end().
  Task<Result<LoopEnd>> run(cluster::Ready first);
  /// Called after run(), if a server was lost (`why`) before finish() was complete: recovers, and trains the
  /// lost steps again.
  Task<Result<LoopEnd>> resume(Error why);
  /// Called at a clean end: saves the last checkpoint if the global step has advanced, then calls end() of all hooks.
  Task<Result<void>> finish();
  /// Called instead of finish() in a task that ends only to be restarted: saves a checkpoint, but does not end the job.
  /// Returns false if updates of other trainers have brought the job to max_steps: then finish() has to save the last
  /// checkpoint, since no training follows it.
  Task<Result<bool>> save_to_give_way();
  /// The current state of the loop as a LoopEnd.
  LoopEnd end() const { return {context_.global_step(), context_.iterations(), reason()}; }
  /// True if `error` ends training without making it fail (LoopOptions::stops_quietly). Then also stops the loop.
  bool ends_quietly(const Error& error);
  /// True once ends_quietly() has returned true: a value is NaN or infinite, so no further checkpoint is saved.
  bool is_poisoned() const { return poisoned_; }
  /// True if `error` comes from a lost server, so that training may continue after LoopOptions::recover.
  bool is_recoverable(const Error& error) const;

 private:
  Task<Result<LoopEnd>> iterations();
  Task<Result<void>> recover(Error why);
  void enter(const cluster::Ready& ready);
  bool may_go_on() const;
  checkpoint::EndReason reason() const;
  bool reached_max() const;
  std::optional<int64_t> last_of_several() const;
  Task<Result<bool>> iterate();
  Task<Result<void>> ready();
  Task<Result<bool>> leave_out_step();
  Task<Result<void>> after_update(const cluster::Outcome& outcome);
  Task<Result<void>> look_at_place();
  void count_step(SteadyTime begun);
  void set_phase(monitor::TaskPhase phase);
  Task<Result<void>> compute_final_values();
  bool saves_after(uint64_t step) const;
  uint64_t step_after() const;
  Task<Result<void>> compute_and_exchange();
  // The functions below run on the compute thread.
  Result<void> compute_step();
  Result<bool> draw_batches();
  Result<bool> draw_batch(size_t replica);
  Result<bool> next_of(TrainingInput& input, data::Batch& batch);
  void put_back(size_t failed);
  Result<void> compute_replica(size_t replica, bool observed);
  Result<void> begin_program(size_t replica, bool observed);
  Result<void> run_on();
  Result<void> take_results();
  void keep_values();
  Result<void> call_after_ready();
  Result<void> call_before_step();
  Result<void> call_after_step();
  Result<void> call_end();
  Result<std::string> input_position(size_t replica);
  Result<cluster::Positions> input_positions();

  Environment& env_;
  LoopContext& context_;
  LoopOptions options_;
  StepRequest request_;
  StepValues values_;
  struct Replica {
    data::Batch batch;
    bool drawn = false;  // False: the replica's input has ended.
  };
  struct Running {
    backends::Program* program = nullptr;
    backends::StepBinding binding;
    backends::RunProgress progress;
    int64_t batch_size = 0;
    uint64_t batch_number = 0;  ///< The batch's number in its input, from 1.
    size_t replica = 0;         ///< The replica to which the batch and the input belong.
    bool observed = false;
  };
  std::vector<Replica> replicas_;  // By input.
  // If there are final values, each batch is drawn into this member first: a draw that finds the end of the input must not
  // overwrite the last batch, from which final values are computed.
  data::Batch next_batch_;
  Running running_;  // The run of a program that is under way, for one replica and its batch.
  // Copies of values for hooks. The originals lie in memory that the next replica's program overwrites.
  std::vector<Tensor> kept_values_;
  std::vector<double> scalars_;
  std::vector<cluster::RowGradients> row_gradients_;  // Views into the program's memory, set after each run.
  std::vector<float> scalar_values_;                  // Values of the program that nn::compute_scalars() needs.
  cluster::Step step_;
  uint64_t step_examples_ = 0;  // The examples in the batches of all replicas.
  SteadyTime next_look_at_place_{};
  InputWatch input_watch_;
  std::optional<Error> fault_;  // Why the current step must not make an update, such as a loss of NaN.
  bool poisoned_ = false;
  bool end_of_input_ = false;
  bool job_stops_ = false;
};

}  // namespace shoal
