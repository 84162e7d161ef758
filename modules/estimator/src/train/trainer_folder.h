// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The model_dir of a trainer: the run that it belongs to, the checkpoint from which training continues, the number of this
/// start, and the end mark (the file that says that training has ended).
#include <memory>
#include <optional>
#include <string>

#include "model/checkpoint_layout.h"
#include "shoal/checkpoint/end_mark.h"
#include "shoal/checkpoint/run_file.h"
#include "task/end_of_job.h"
#include "train/checkpoint_saver.h"
#include "train/spare_folder.h"
#include "train/train_scope.h"

namespace shoal {

/// The model_dir of one training. The leading task locks the folder, reads checkpoints, and writes its files; a worker only
/// reads the end mark and run.json. All functions but the getters block, so call them on the compute thread.
class TrainerFolder {
 public:
  explicit TrainerFolder(TrainScope& scope);

  /// Called before anything is built. True if nothing is left to train, because the newest checkpoint is at max_steps or
  /// because run_has_ended(). Otherwise a local run has begun (see begin()). A chief has locked the folder, read from it and
  /// removed an old end mark, and nothing more: it calls begin() once the servers have let it lead. FailedPrecondition if the folder cannot be created or written.
  Result<bool> look();
  /// Called by the leading task if look() has returned false: the folder is this start's from now on. Gives the start a new
  /// number, removes an old end mark, an old report and what killed processes left, and writes run.json. Does nothing if the
  /// run has begun. A chief that the servers refuse never calls this, but put_mark_back().
  Result<void> begin();
  /// Called if the servers have not let this chief lead: writes the end mark again that look() has removed, so that the
  /// folder is as it was. look() cannot leave the removal to begin(), since a task that sees files late takes an old mark,
  /// which appears after its start, for the end of this job.
  void put_mark_back();
  /// Reads the newest intact checkpoint, also if one was read before.
  Result<void> reopen_checkpoint();
  /// Called by the leading task: writes that the job ended at `global_step` with `checkpoint` as its last checkpoint.
  Result<void> write_end_mark(int64_t global_step, checkpoint::EndReason reason, std::string checkpoint);
  /// Called by the leading task before writes and at intervals. FailedPrecondition: the folder was removed, moved or
  /// replaced during this run (training does not make a new folder then). Unavailable: the folder cannot be seen now.
  Result<void> check_place();
  /// Called by the leading task before it publishes a checkpoint as the newest one. Unavailable: another start has
  /// begun in the folder meanwhile, for example because a file server lost sight of this host and released its lock.
  /// Checks nothing if the model lies on parameter servers: these refuse a second chief, unless it has taken over from
  /// this one.
  Result<void> check_run();
  /// The id of the run in the folder's run.json at present; empty if this file is missing or cannot be read.
  Result<std::string> seen_run();
  /// Whether the job has ended, for a worker whose servers cannot be reached.
  bool job_has_ended();

  /// False if the file system has no locks, so that another process may write into the folder, too. Call this after look().
  bool is_locked() const { return lock_ != nullptr; }

  /// The global step at which training ends; nothing if training ends with its input. Call this after look().
  const std::optional<int64_t>& max_steps() const { return max_steps_; }
  /// True if use_checkpoint() has not been called since the checkpoint was read. Then it can be called without reading the
  /// checkpoint again.
  bool checkpoint_is_fresh() const { return checkpoint_is_fresh_; }
  /// Returns the checkpoint from which the servers or the local store get the variables' values; null if the variables are
  /// to get the values of their initializers.
  CheckpointSource* use_checkpoint();
  /// The name and the global step of the checkpoint that was read last; "" and 0 if there is none.
  std::string checkpoint_name() const;
  uint64_t checkpoint_step() const { return source_ ? source_->info().global_step : 0; }
  bool has_checkpoint() const { return source_ != nullptr; }
  /// True if an earlier start has saved checkpoints here, also if none was opened yet.
  bool lists_checkpoints() const;
  /// The checkpoint that was read last; null without one.
  const CheckpointSource* checkpoint() const { return source_.get(); }
  /// The folder for checkpoints that model_dir does not take; null without RunConfig::spare_dir(). Called by the leading task
  /// after look().
  SpareFolder* spare() { return spare_for(run_file_.id); }
  /// True if this task found an end mark (the file that says that training has ended) when it started, and has not removed
  /// it.
  bool keeps_mark() const { return mark_at_start_ && !run_begun_; }
  bool was_marked() const { return mark_at_start_.has_value(); }
  /// This run's description, stored in each checkpoint (encode_run()). Called by the leading task after look().
  std::string run_text() const;
  /// The model's meaning (vocabularies, classes and so on) that run.json records; empty: none yet.
  const std::string& meaning() const { return run_file_.meaning; }
  /// Writes the model's meaning (vocabularies, classes and so on) into run.json. Called by the leading task.
  Result<void> keep_meaning(std::string meaning);
  /// True if run.json has this run's id: another task may have read it.
  bool is_run_known() const { return written_run_ && written_run_->id == run_file_.id; }
  /// The number of this start among all starts of the run, from 1.
  int64_t start_number() const { return run_; }
  /// True if a chief of this launch (with the same SHOAL_RUN) has ended training before max_steps, so that the other tasks
  /// have ended, too. False without servers, since such a job has no other tasks.
  bool run_has_ended() const;
  /// The reason in the end mark that this task found at its start. Call it only if was_marked().
  checkpoint::EndReason reason_at_start() const { return mark_at_start_->reason; }

 private:
  Result<void> make_and_lock();
  void tell_host(bool trains);
  void remove_what_was_left();
  Result<std::unique_ptr<checkpoint::Reader>> newer_in_spare_dir(const checkpoint::Reader* newest);
  SpareFolder* spare_for(const std::string& run);
  Result<void> choose_run(bool trains);
  Result<void> write_run();
  checkpoint::RunFile adopt_or_begin_run();
  void guess_run();
  Result<void> begin_run();
  bool is_finished() const;
  checkpoint::WarningSink warnings();

  TrainScope& scope_;
  std::unique_ptr<StorageLock> lock_;
  checkpoint::RunFile run_file_;                    // The contents of run.json, in the leading task only.
  std::optional<checkpoint::RunFile> written_run_;  // The contents that run.json has at present; none if it is missing.
  bool is_ours_ = false;                            // True once begin() was called.
  std::unique_ptr<SpareFolder> spare_;
  std::unique_ptr<CheckpointSource> source_;
  bool checkpoint_is_fresh_ = false;
  std::optional<int64_t> max_steps_;
  EndOfJob end_of_job_;                               // Tells a worker whether model_dir says that the job has ended.
  std::optional<checkpoint::EndMark> mark_at_start_;  // The end mark that the leading task found at its start.
  // The number of this start among all starts of the run. If nothing is left to train, this start gets no number, and
  // run_ is the number of the newest start that got one.
  int64_t run_ = 0;
  bool run_begun_ = false;
};

}  // namespace shoal
