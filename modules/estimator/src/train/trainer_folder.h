// SPDX-License-Identifier: Apache-2.0
#pragma once
/// model_dir as a trainer meets it: its run, the checkpoint that training goes on from, the number of this start, the end
/// mark.
#include <memory>
#include <optional>
#include <string>

#include "model/checkpoint_layout.h"
#include "shoal/checkpoint/end_mark.h"
#include "shoal/checkpoint/run_file.h"
#include "task/end_of_job.h"
#include "train/checkpoint_saver.h"
#include "train/train_scope.h"

namespace shoal {

/// Who leads locks the folder, reads checkpoints and writes; a worker only looks for the end mark. Everything but the plain
/// questions blocks: it belongs on the compute thread.
class TrainerFolder {
 public:
  explicit TrainerFolder(TrainScope& scope);

  /// Called before anything is built. True if nothing is left to train, since the newest checkpoint is at max_steps or
  /// this very run has ended. Otherwise another run has begun, with a number of its own, and the mark of the run before
  /// is gone. FailedPrecondition if the folder cannot be created or written.
  Result<bool> look();
  /// Reads the newest intact checkpoint, again.
  Result<void> reopen_checkpoint();
  /// Called by who leads: at `global_step` the job has ended, with `checkpoint` as its last.
  Result<void> write_end_mark(int64_t global_step, checkpoint::EndReason reason, std::string checkpoint);
  /// Called by who leads, before it writes and now and then. FailedPrecondition: the folder was removed, moved or replaced
  /// under this run, which makes nothing anew in its place. Unavailable: that cannot be seen now.
  Result<void> check_place();
  /// Called by who leads, before a checkpoint becomes the newest. Unavailable: another start has begun in the folder
  /// since, as where a file server let go of the lock of a host that it did not hear from. Not asked
  /// of a cluster's chief, for whom the servers say it: they know a second chief that is refused from one that took
  /// over.
  Result<void> check_run();
  /// The id of the run that the folder is of now; empty: there is none, or it cannot be seen.
  Result<std::string> seen_run();
  /// Whether the job has ended, for a worker whose servers cannot be reached.
  bool job_has_ended();

  /// False where the file system has no locks: another process may write into the folder, too. Known after look().
  bool is_locked() const { return lock_ != nullptr; }

  /// The global step at which training ends; nothing if it ends with the input. Known after look().
  const std::optional<int64_t>& max_steps() const { return max_steps_; }
  /// The checkpoint was read since the servers were last asked, so it need not be read again.
  bool checkpoint_is_fresh() const { return checkpoint_is_fresh_; }
  /// What the servers, or the local store, are filled from; null: the initializers.
  CheckpointSource* use_checkpoint();
  /// The name of the checkpoint that was read last, empty without one, and its global step, 0 without one.
  std::string checkpoint_name() const;
  uint64_t checkpoint_step() const { return source_ ? source_->info().global_step : 0; }
  bool has_checkpoint() const { return source_ != nullptr; }
  /// The checkpoint that was read last; null without one.
  const CheckpointSource* checkpoint() const { return source_.get(); }
  /// This run's own folder within RunConfig::spare_dir(); empty: none. Called by who leads, after look().
  std::string spare_dir() const;
  /// True if there was an end mark when this task came, and it was left in place.
  bool keeps_mark() const { return mark_at_start_ && !run_begun_; }
  bool was_marked() const { return mark_at_start_.has_value(); }
  /// The run of this folder as checkpoints repeat it (checkpoint::encode_run()). Called by who leads, after look().
  std::string run_text() const;
  /// What run.json says that the model means; empty: nothing yet.
  const std::string& meaning() const { return run_file_.meaning; }
  /// Writes the meaning into run.json. Called by the leading task.
  Result<void> keep_meaning(std::string meaning);
  /// The number of this start among those of the run, from 1.
  int64_t start_number() const { return run_; }
  /// The run of this name (SHOAL_RUN), which this task is part of, has ended before max_steps, and its other tasks have
  /// gone. A job without servers has no others.
  bool run_has_ended() const;
  /// Why the run ended whose mark was there when this task came. Only if was_marked().
  checkpoint::EndReason reason_at_start() const { return mark_at_start_->reason; }

 private:
  Result<void> make_and_lock();
  void tell_host(bool trains);
  void remove_what_was_left();
  std::unique_ptr<checkpoint::Reader> newer_in_spare_dir(const checkpoint::Reader* newest);
  std::string spare_dir_of(const std::string& run) const;
  Result<void> take_run();
  checkpoint::RunFile adopt_or_begin_run();
  void guess_run();
  Result<void> begin_run();
  bool is_finished() const;
  checkpoint::WarningSink warnings();

  TrainScope& scope_;
  std::unique_ptr<StorageLock> lock_;
  checkpoint::RunFile run_file_;  // What run.json says. Only who leads knows it.
  std::unique_ptr<CheckpointSource> source_;
  bool checkpoint_is_fresh_ = false;
  std::optional<int64_t> max_steps_;
  EndOfJob end_of_job_;                               // How a worker learns of the end.
  std::optional<checkpoint::EndMark> mark_at_start_;  // The mark that whoever leads found at the start.
  int64_t run_ = 0;  // The number of this run; where nothing is left to train, that of the newest one.
  bool run_begun_ = false;
};

}  // namespace shoal
