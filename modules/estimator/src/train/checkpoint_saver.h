// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Writes checkpoints of a store and calls the checkpoint listeners: at the first step, then whenever one is due by steps
/// or seconds, and at the end if the step has moved since.
#include <memory>
#include <string>
#include <vector>

#include "hooks/loop_context.h"
#include "shoal/base/environment.h"
#include "shoal/checkpoint/directory.h"
#include "shoal/checkpoint/hours_rule.h"
#include "shoal/cluster/store.h"
#include "shoal/estimator/hook.h"
#include "shoal/estimator/interval_timer.h"
#include "shoal/estimator/run_config.h"
#include "train/spare_folder.h"

namespace shoal {

struct SaverOptions {
  std::string model_dir;
  SpareFolder* spare = nullptr;  ///< Takes the checkpoints that model_dir does not take. Null: there is none.
  std::string numerics;          ///< The description of the numerics, which is stored with each checkpoint.
  std::string fingerprint;       ///< The fingerprint of the model, stored with each checkpoint.
  std::string meaning = {};      ///< Meaning::encode() and encode_rules() of the model, stored with each checkpoint.
  std::string rules = {};
  std::string run = {};  ///< The description of the run (checkpoint::encode_run()), stored with each checkpoint.
  /// Returns an error if the folder is no longer this run's. Called on the compute thread before anything is written and
  /// again before a checkpoint is published. Unavailable: the folder cannot be reached now, and the saver tries again until
  /// `ready_timeout` is over. Null: no check.
  std::function<Result<void>()> check_place = {};
  Duration ready_timeout = std::chrono::seconds(7200);
  /// Returns an error if this run may no longer publish checkpoints. Called on the compute thread, as the last check before
  /// a checkpoint is published. Null: no check.
  std::function<Result<void>()> check_run = {};
  /// Which data files checkpoints share with earlier ones. Default: none. Set it only if this process has locked the
  /// folder.
  std::optional<checkpoint::Sharing> sharing = {};
  std::vector<std::shared_ptr<CheckpointListener>> listeners;
  std::shared_ptr<monitor::TaskMeters> meters = {};  ///< Null if there is no endpoint for monitoring.
};

class CheckpointSaver {
 public:
  /// The hours of keep_checkpoint_every_n_hours count from this call.
  CheckpointSaver(Environment& env, const RunConfig& config, SaverOptions options);

  /// Saves at the start of a run and after each recovery, even if a checkpoint of that step exists. Calls begin() of the
  /// listeners before the first save. `last_step`: see save_when_due().
  Task<Result<void>> save_at_start(cluster::Store& store, LoopContext& context, cluster::Positions own_positions,
                                   std::optional<int64_t> last_step = {});
  bool due(uint64_t step, SteadyTime now) const { return timer_.due(step, now); }
  /// Saves if a checkpoint is due. `last_step`: the step at which a job of several trainers ends. If other trainers have
  /// already brought the weights to that step, saves nothing: a checkpoint of that step would be taken for the job's last
  /// one, which save_at_end() writes. If a trainer has failed for good, logs that, and saves nothing until the trainer is
  /// back.
  Task<Result<void>> save_when_due(cluster::Store& store, LoopContext& context, cluster::Positions own_positions,
                                   std::optional<int64_t> last_step = {});
  /// Saves if the step has moved since the last checkpoint, or if the last checkpoint is only in the spare folder
  /// (SaverOptions::spare). Does not call end() of the listeners. `last_step`: see save_when_due().
  Task<Result<void>> save_if_moved(cluster::Store& store, LoopContext& context, cluster::Positions own_positions,
                                   std::optional<int64_t> last_step = {});
  /// Saves the last checkpoint, unless the newest checkpoint has this step already, and calls end() of the listeners.
  /// Unavailable if model_dir cannot be written and the last checkpoint is in the spare folder. The job then does not count
  /// as ended; its next start ends it.
  Task<Result<void>> save_at_end(cluster::Store& store, LoopContext& context, cluster::Positions own_positions);

  /// Called instead of save_at_end() if the newest checkpoint is to be the job's last one: saves nothing, and only calls
  /// end() of the listeners.
  Task<Result<void>> end_without_a_save(cluster::Store& store, LoopContext& context);

  /// The step of the newest checkpoint that was written, if there is one.
  std::optional<uint64_t> last_step() const { return timer_.last_step(); }
  /// The name of the newest checkpoint that was written ("model.ckpt-20"); empty: none yet.
  const std::string& last_name() const { return last_name_; }

 private:
  Result<void> look_at_place();
  Task<Result<bool>> somebody_failed(cluster::Store& store);
  Task<Result<void>> save(cluster::Store& store, LoopContext& context, cluster::Positions own_positions,
                          std::optional<int64_t> last_step);
  Task<Result<void>> save(cluster::Store& store, LoopContext& context, cluster::Snapshot& snapshot,
                          std::optional<int64_t> last_step);
  Task<Result<void>> end_at(cluster::Store& store, LoopContext& context, uint64_t step);
  bool is_spare(const std::string& folder) const { return options_.spare && folder == options_.spare->folder(); }
  Task<Result<void>> write(cluster::Store& store, cluster::Snapshot& snapshot);
  Task<Result<void>> write_to_model_dir(cluster::Store& store, cluster::Snapshot& snapshot);
  Task<Result<void>> try_to_write(cluster::Store& store, cluster::Snapshot& snapshot, const std::string& folder);
  Task<Result<void>> try_to_write(cluster::Store& store, cluster::Snapshot& snapshot, const std::string& folder,
                                  std::optional<checkpoint::Sharing> sharing);
  /// Returns `result`, which a call that writes files has returned. If it is an error, sets disk_failed_.
  template <class T>
  Result<T> of_disk(Result<T> result) {
    disk_failed_ = disk_failed_ || !result;
    return result;
  }
  Task<Result<void>> stream(cluster::Snapshot& snapshot, checkpoint::Writer& writer, int arena_number, int shard);
  Task<Result<void>> tell(cluster::Store& store, std::string_view what, std::function<void()> call);

  Environment& env_;
  SaverOptions options_;
  int64_t keep_max_;
  bool allow_non_finite_;
  IntervalTimer timer_;
  checkpoint::HoursRule hours_rule_;
  std::string last_name_;
  std::string last_prefix_;
  bool begun_ = false;
  bool place_unclear_ = false;   // True if the last check_place() failed because the folder could not be reached.
  bool disk_failed_ = false;     // True if the last save failed because of a file, and not because of a server.
  bool sharing_failed_ = false;  // True if the last save could not read the previous checkpoint.
  uint64_t bytes_written_ = 0;   // How many bytes this start has written in all checkpoints together.
  bool last_is_spared_ = false;  // True if the newest checkpoint is in the spare folder, not in model_dir.
};

}  // namespace shoal
