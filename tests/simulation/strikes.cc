// SPDX-License-Identifier: Apache-2.0
#include "planned_run.h"
#include "shoal/checkpoint/directory.h"
#include "shoal/checkpoint/run_file.h"

namespace shoal::simulation {
namespace {

using namespace std::chrono_literals;

constexpr auto kSettlesIn = 10s;
constexpr auto kMovedFor = 30s;  // The time in which a job whose folder went has to end.
const std::string kMovedDir = "/shared/moved", kOtherDir = "/shared/other";

bool is_of_a_checkpoint(const std::string& path) { return path.find("model.ckpt-") != std::string::npos; }

}  // namespace

/// A mark whose folder was not synced yet is gone then, but the evaluator may have seen it.
void PlannedRun::shared_folder_loses_power(uint64_t draw) {
  look_for_mark();
  world_.shared().lose_power(plan_.seed + draw);
}

void PlannedRun::strike(const Fault& fault) {
  const std::string& task = fault.task;
  if (!world_.running(task) || gone_.contains(task)) return;
  ++verdict_.faults[std::string(to_string(fault.kind))];
  was_calm_ = disturbed_until_ <= world_.elapsed();
  was_settled_ = disturbed_until_ == Duration::zero() || disturbed_until_ + kSettlesIn <= world_.elapsed();
  last_strike_ = world_.elapsed();
  disturbed_until_ = std::max(disturbed_until_, world_.elapsed() + fault.lasts);
  switch (fault.kind) {
    case FaultKind::kKill:
      world_.kill(task);
      if (fault.for_good) {
        gone_.insert(task);
      } else {
        start_later(task, fault.lasts);
      }
      break;
    case FaultKind::kPower:
      world_.lose_power(task);
      // The chief's host keeps the folder for all.
      if (task == leader_) shared_folder_loses_power(uint64_t(fault.step));
      start_later(task, fault.lasts);
      break;
    case FaultKind::kFreeze:
      frozen_.insert(task);
      world_.freeze(task);
      world_.after(fault.lasts, [this, task] { world_.thaw(task); });
      break;
    case FaultKind::kInterrupt:
      interrupted_ = interrupted_ || task == leader_;
      world_.interrupt(task);
      break;
    case FaultKind::kCut:
      world_.network().cut(task, fault.other);
      world_.after(fault.lasts, [this, &fault] { world_.network().heal(fault.task, fault.other); });
      break;
    case FaultKind::kCutOneWay:
      world_.network().cut_one_way(task, fault.other);
      world_.after(fault.lasts, [this, &fault] { world_.network().heal_one_way(fault.task, fault.other); });
      break;
    case FaultKind::kReset: world_.network().reset(task, fault.other); break;
    case FaultKind::kSlow:
      world_.network().set_link(task, fault.other, {.latency = 300ms, .jitter = 300ms});
      world_.after(fault.lasts, [this, &fault] {
        world_.network().set_link(fault.task, fault.other,
                                  {.latency = plan_.latency, .jitter = plan_.jitter, .loss = plan_.loss});
      });
      break;
    case FaultKind::kWallClock: world_.set_wall_clock(task, std::chrono::seconds(fault.number), 0.01); break;
    case FaultKind::kDiskFull:
      // A start that finds a full disk, and no checkpoint, fails for good (CONTRACT FA-7).
      if (!checkpoint::read_pointer(world_.shared(), kModelDir).value_or(std::nullopt)) break;
      world_.shared().set_capacity(world_.shared().used_bytes());
      world_.after(fault.lasts, [this] { world_.shared().set_capacity(~uint64_t(0)); });
      break;
    case FaultKind::kDiskSlow:
      world_.shared().set_faults({.seed = plan_.seed, .slow = 0.2, .slow_max = 500ms});
      world_.after(fault.lasts, [this] { world_.shared().set_faults({}); });
      break;
    case FaultKind::kDiskError:
      world_.shared().set_faults({.seed = plan_.seed, .error = 0.05});
      world_.after(fault.lasts, [this] { world_.shared().set_faults({}); });
      break;
    case FaultKind::kBitFlip:
      world_.shared().set_faults({.seed = plan_.seed, .bit_flip = 0.3, .flips_in = is_of_a_checkpoint});
      world_.after(fault.lasts, [this] { world_.shared().set_faults({}); });
      break;
    case FaultKind::kStartTwice: start_second(task, {}); break;
    case FaultKind::kOtherJob: start_second(task, kOtherDir); break;
    case FaultKind::kFolderMoved: move_folder(); break;
    case FaultKind::kFolderGone:
      world_.cut_off_shared(task, true);
      world_.after(fault.lasts, [this, task] { world_.cut_off_shared(task, false); });
      break;
    case FaultKind::kFolderLate: world_.see_shared_late(task, std::min<Duration>(fault.lasts, 3s)); break;
    case FaultKind::kKillInSave:
    case FaultKind::kPowerInSave:
      outages_[task] = fault.lasts;
      if (fault.kind == FaultKind::kPowerInSave) power_fails_.insert(task);
      world_.kill_in_storage(task, fault.number);
      break;
    case FaultKind::kLeave: tell_to_leave(task, fault.lasts); break;
    case FaultKind::kLeaveAll:
      for (const std::string& each : world_.tasks()) tell_to_leave(each, fault.lasts);
      break;
    case FaultKind::kInterruptAll:
      interrupted_ = true;
      evaluator_interrupted_ = evaluator_interrupted_ || plan_.job.size.evaluator;
      for (const std::string& each : world_.tasks()) world_.interrupt(each);
      break;
    case FaultKind::kLateStart: break;
  }
}

/// Whoever sends such a signal starts the task again, after a while.
void PlannedRun::tell_to_leave(const std::string& task, Duration away) {
  if (!world_.running(task) || is_second(task) || gone_.contains(task)) return;
  if (leaving_.emplace(task, was_calm_ ? world_.elapsed() : kLimit).second) ++leaves_;
  outages_[task] = away;
  world_.leave(task);
}

/// Gives the same command a second time, while the first one lives; with `model_dir`, as a worker of another job, which had that
/// folder before and comes to this job's addresses.
void PlannedRun::start_second(const std::string& task, const std::optional<std::string>& model_dir) {
  const std::string second = task + (model_dir ? " elsewhere" : " again");
  if (seconds_.contains(second) && world_.running(second)) return;
  if (model_dir) {
    const checkpoint::RunFile other{.id = std::string(32, '0')};
    if (!world_.shared().make_folders(*model_dir) || !checkpoint::write_run(world_.shared(), *model_dir, other)) return;
    if (world_.global_step() == 0 || !was_settled_) not_told_apart_.insert(task);
  }
  seconds_[second] = true;
  started_[second] = world_.elapsed();
  world_.start_second(task, model_dir);
}

/// The folder is moved away under the living job, and moved back when that has ended by it (CONTRACT RU-4).
void PlannedRun::move_folder() {
  look_for_mark();
  if (marked_ || chief_ended_) return;
  if (!world_.shared().rename(kModelDir, kMovedDir)) return;
  moved_ = true;
  disturbed_until_ = std::max(disturbed_until_, world_.elapsed() + kMovedFor + kRestart);
  world_.after(kMovedFor, [this] { move_folder_back(); });
}

void PlannedRun::move_folder_back() {
  const bool ended = !world_.running(leader_);
  if (!ended) violated(leader_ + " trains on, though its folder went " + std::to_string(kMovedFor / 1s) + " s ago");
  if (world_.shared().exists(kModelDir)) {
    violated("the folder was made anew after it went");
  } else if (!world_.shared().rename(kMovedDir, kModelDir)) {
    violated("the folder cannot be moved back");
  }
  moved_ = false;
  if (!ended) return;
  const int status = world_.exit_status(leader_);
  if (status != 0 && status != 2)
    violated(leader_ + " ended with status " + std::to_string(status) + " when its folder went");
  for (const std::string& task : world_.tasks()) {  // Whoever operates it gives the commands again.
    if (world_.running(task) || is_second(task)) continue;
    if (status != 0 || world_.exit_status(task) != 0) start_later(task, kRestart);
  }
}

}  // namespace shoal::simulation
