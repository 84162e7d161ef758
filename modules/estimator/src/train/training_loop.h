// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The loop that every trainer runs, over any store: hooks, a batch, the program, the update, hooks (CONTRACT 7).
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
#include "train/checkpoint_saver.h"
#include "train/input_watch.h"

namespace shoal {

/// The position of an input as a store carries it: opaque bytes.
std::string encode_position(const data::Position& position);
Result<data::Position> decode_position(std::string_view bytes);

/// A trainer's input as it goes along: the loop draws from it, the task moves it (after a restart or a recovery).
struct TrainingInput {
  std::unique_ptr<data::Iterator> iterator;
  /// The batch that was drawn already, to learn the types, and not trained on yet.
  std::optional<data::Batch> first_batch;
  std::string first_position;  ///< The iterator's position before that batch; empty if it cannot tell.
};

struct LoopOptions {
  BuiltModel* model = nullptr;
  cluster::Store* store = nullptr;
  /// Inputs of trainer `trainer_index` and, where replicas are computed here, of those after it.
  std::vector<TrainingInput*> inputs;
  /// Names of what a fetching step gives beside the loss, in the programs' order.
  std::vector<std::string> fetch_names;
  NamedValues final_values;  ///< What hooks have at the end (RunContext::final_value()), where this task leads.
  std::vector<std::shared_ptr<Hook>> hooks;
  CheckpointSaver* saver = nullptr;  ///< Null if this task saves no checkpoints.
  JobMetrics* metrics = nullptr;     ///< Null if this task reports no rates of the job.
  InputWatchOptions input_watch;
  std::optional<int64_t> max_steps;  ///< A global step: no step is begun at or beyond it.
  uint64_t trainer_index = 0;
  bool allow_non_finite = false;
  /// True if what would end training with NanLoss ends it quietly (NanGuardOptions::fail).
  bool stops_quietly = false;
  cluster::UpdateObserver* observer = nullptr;  ///< Null in programs: observers are for simulations and tests.
  /// Asked every so often on the compute thread, by who leads: whether model_dir is still this run's. An error other than
  /// Unavailable ends the training. Null: nobody looks.
  std::function<Result<void>()> check_place;
  Duration check_place_every = std::chrono::seconds(5);
  /// Called after a lost server: makes the model ready again (leader) or waits for it, and moves the input to where it
  /// says. Null if the store cannot be lost.
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

  /// Trains from after_ready() to the last iteration. Gives errors as they come (after_step() and end() are not called
  /// then). The final save and end() are finish()'s.
  Task<Result<LoopEnd>> run(cluster::Ready first);
  /// Called after run(), when a server was lost (`why`) before finish() was through: recovers, and trains what the job
  /// fell back.
  Task<Result<LoopEnd>> resume(Error why);
  /// Called at a clean end: the last checkpoint if the step moved, then end() of all hooks.
  Task<Result<void>> finish();
  /// Called in place of finish() where the task gives way: the checkpoint alone, for nothing has ended. False: with other
  /// trainers' updates the job has come to max_steps. The checkpoint of such a step is finish()'s: behind it nobody trains.
  Task<Result<bool>> save_to_give_way();
  /// Where the loop stands.
  LoopEnd end() const { return {context_.global_step(), context_.iterations(), reason()}; }
  /// True if `error` is one that ends training quietly (LoopOptions::stops_quietly), which it has from now on.
  bool ends_quietly(const Error& error);
  /// True once training has ended quietly for what is NanLoss otherwise: nothing of it is saved.
  bool is_poisoned() const { return poisoned_; }
  /// True if recovery may help against `error`.
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
  Task<Result<void>> compute_final_values();
  bool saves_after(uint64_t step) const;
  uint64_t step_after() const;
  Task<Result<void>> compute_and_exchange();
  // What follows runs on the compute thread.
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
    bool drawn = false;  // false: its input has ended
  };
  struct Running {
    backends::Program* program = nullptr;
    backends::StepBinding binding;
    backends::RunProgress progress;
    int64_t batch_size = 0;
    uint64_t batch_number = 0;  ///< The batch's number in its input, from 1.
    size_t replica = 0;         ///< Whose batch and input these are.
    bool observed = false;
  };
  std::vector<Replica> replicas_;    // by input
  data::Batch next_batch_;           // The next batch is drawn here if final values need the last one at the end.
  Running running_;                  // The program of the replica that is computed now.
  std::vector<Tensor> kept_values_;  // Values of the replica that hooks see, where others are computed after it.
  std::vector<double> scalars_;
  std::vector<cluster::RowGradients> row_gradients_;  // Views into the program, set after each run.
  std::vector<float> scalar_values_;                  // Sources of the scalars that are not known before the step.
  cluster::Step step_;
  SteadyTime next_look_at_place_{};
  InputWatch input_watch_;
  std::optional<Error> fault_;  // What is wrong with the step at hand, of which no update may be made.
  bool poisoned_ = false;
  bool end_of_input_ = false;
  bool job_stops_ = false;
};

}  // namespace shoal
