// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Writes checkpoints of a store when they are due, and tells the listeners (CONTRACT 10, CH-3, CK-9, HK-9).
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

namespace shoal {

struct SaverOptions {
  std::string model_dir;
  std::string spare_dir = {};  ///< The run's own folder in RunConfigOptions::spare_dir; empty: none.
  std::string numerics;        ///< The text that is stored with each checkpoint.
  std::string fingerprint;   ///< The fingerprint of the model, stored likewise.
  std::string meaning = {};  ///< What SaveInfo has of the model, stored likewise.
  std::string rest = {};
  std::string run = {};  ///< What the run is (checkpoint::encode_run()), stored likewise.
  /// Asked before anything is written and again before a checkpoint is published, on the compute thread: whether the folder is
  /// still this run's. Unavailable: that cannot be seen now, and is waited for until `ready_timeout`. Null: it is.
  std::function<Result<void>()> check_place = {};
  Duration ready_timeout = std::chrono::seconds(7200);
  /// Asked last, on the compute thread: whether this run may still say which checkpoint is the newest. Null: it may.
  std::function<Result<void>()> check_run = {};
  /// How checkpoints share files. Default: they share none. Set it only if this process has locked the folder.
  std::optional<checkpoint::Sharing> sharing = {};
  std::vector<std::shared_ptr<CheckpointListener>> listeners;
};

class CheckpointSaver {
 public:
  /// Training starts now, as far as keep_checkpoint_every_n_hours goes.
  CheckpointSaver(Environment& env, const RunConfig& config, SaverOptions options);

  /// The first save of a run and of each recovery: even if a checkpoint of that step exists. begin() of the listeners
  /// comes before the first.
  /// `last_step` as for save_when_due().
  Task<Result<void>> save_at_start(cluster::Store& store, LoopContext& context, cluster::Positions own_positions,
                                   std::optional<int64_t> last_step = {});
  bool due(uint64_t step, SteadyTime now) const { return timer_.due(step, now); }
  /// `last_step`: of a job of several trainers, who may be there by now; the state is left to save_at_end() then, so that
  /// no other checkpoint looks like the last.
  /// Nothing is saved, and a line says so, while a trainer has failed for good and is not back (CONTRACT CK-17).
  Task<Result<void>> save_when_due(cluster::Store& store, LoopContext& context, cluster::Positions own_positions,
                                   std::optional<int64_t> last_step = {});
  /// Saves if the step moved since the last checkpoint, or if that one is only in the spare folder. Nobody hears of an end. `last_step` as for
  /// save_when_due().
  Task<Result<void>> save_if_moved(cluster::Store& store, LoopContext& context, cluster::Positions own_positions,
                                   std::optional<int64_t> last_step = {});
  /// The last: only if the step moved since the one before. Then end() of the listeners. Unavailable if the last checkpoint is in the
  /// spare folder: the job has not ended in model_dir then, and the next start ends it.
  Task<Result<void>> save_at_end(cluster::Store& store, LoopContext& context, cluster::Positions own_positions);

  /// Called instead of save_at_end(), where the newest checkpoint is to stay the last: only end() of the listeners.
  Task<Result<void>> end_without_a_save(cluster::Store& store, LoopContext& context);

  /// The step of the newest checkpoint written, if there is one.
  std::optional<uint64_t> last_step() const { return timer_.last_step(); }
  /// Name of the newest checkpoint written ("model.ckpt-20"); empty: none yet.
  const std::string& last_name() const { return last_name_; }

 private:
  Result<void> look_at_place();
  Task<Result<bool>> somebody_failed(cluster::Store& store);
  Task<Result<void>> save(cluster::Store& store, LoopContext& context, cluster::Positions own_positions,
                          std::optional<int64_t> last_step);
  Task<Result<void>> save(cluster::Store& store, LoopContext& context, cluster::Snapshot& snapshot,
                          std::optional<int64_t> last_step);
  Task<Result<void>> end_at(cluster::Store& store, LoopContext& context, uint64_t step);
  Task<Result<void>> write(cluster::Store& store, cluster::Snapshot& snapshot);
  Task<Result<void>> write_to_model_dir(cluster::Store& store, cluster::Snapshot& snapshot);
  Task<Result<void>> try_to_write(cluster::Store& store, cluster::Snapshot& snapshot, const std::string& folder);
  Task<Result<void>> try_to_write(cluster::Store& store, cluster::Snapshot& snapshot, const std::string& folder,
                                  std::optional<checkpoint::Sharing> sharing);
  void leave_spare_dir(int64_t step);
  /// Notes an error of a call that writes files.
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
  bool place_unclear_ = false;   // The last look at the folder said nothing.
  bool disk_failed_ = false;     // The last attempt failed at a file, and not at a server.
  bool sharing_failed_ = false;  // The last attempt failed because of the checkpoint before.
  uint64_t bytes_written_ = 0;   // The sum over all checkpoints of this start.
  bool spare_is_empty_ = false;  // True if the spare folder is known to have no checkpoint.
  bool last_is_spared_ = false;  // True if the newest checkpoint that was written is in the spare folder.
};

}  // namespace shoal
