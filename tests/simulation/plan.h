// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What one seed stands for: a job, and the faults that it meets. A plan is drawn from the seed, and then a value like
/// any other, so that one that fails can be made smaller fault by fault.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shoal/base/time.h"
#include "shoal/cluster/cluster_spec.h"

namespace shoal::simulation {

enum class ModelKind { kDense, kNormalized, kTable, kOwn };  // kOwn: with an op and an optimizer of its own

/// How the pushes of N trainers become updates.
enum class Updates { kAsync, kSync, kSyncWithBackup, kSyncTwiceEach };

/// What one step of one trainer computes: everything is sound, its gradient is not though its loss is, its loss is not, or its
/// gradient is not and a norm that clipping takes shows it.
enum class Poison { kNone, kGradient, kLoss, kNorm };

struct JobPlan {
  bool local = false;  ///< True for one process without a cluster.
  int replicas = 1;    ///< For how many trainers that process computes.
  cluster::ClusterSize size;
  ModelKind model = ModelKind::kDense;
  Updates updates = Updates::kAsync;
  int64_t batch = 8;
  int64_t max_steps = 0;  ///< The global step at which training ends; 0 goes on until the input ends.
  int64_t passes = 0;     ///< The passes over the data; 0 repeats it for ever.
  /// The passes of each trainer, where their inputs end at different times; empty: `passes`.
  std::vector<int64_t> uneven_passes{};
  int64_t save_steps = 0;  ///< The steps between two saves; 0 saves by time.
  double save_secs = 0;
  int64_t keep_max = 5;
  int64_t summary_steps = 100;
  int64_t throttle_secs = 0;
  bool exporters = false;
  std::string compression;  ///< One of "", "bfloat16", "int8" and "top-k".
  double ready_timeout_secs = 120;
  bool named_run = false;                   ///< True if the launcher names each start (SHOAL_RUN).
  bool drawn_seed = false;                  ///< True if nobody gives a seed, so that the run draws one.
  bool learns = false;                      ///< True if the program learns words of data that grow with each start.
  std::optional<int64_t> hook_stops_at{};   ///< The step from which a hook of the user asks for a stop.
  std::optional<int64_t> hook_throws_at{};  ///< The step from which that hook throws, once.
  int64_t hook_trainer = 0;                 ///< The trainer that has this hook.
  /// All trainers have an early-stopping hook, which stops the job once an evaluation is of this step, or a later one.
  std::optional<int64_t> early_stop_from{};
  bool final_values = false;  ///< True if the hook of the user asks for values at the end.
  /// At the first start of the job, a batch of `poison_trainer` is replaced by one that has this effect.
  Poison poison = Poison::kNone;
  int64_t poison_at = 0;  ///< The global step from which that batch is replaced; 20 steps later it is too late.
  int64_t poison_trainer = 0;
  /// For how many more steps all tasks are started once more after the end; 0 is the same command again.
  std::optional<int64_t> more_steps{};
};

inline constexpr int64_t kTrainExamples = 96;
/// How many batches the input of `trainer` has; 0: it has no end.
inline int64_t batches_of(const JobPlan& job, size_t trainer) {
  const int64_t passes = trainer < job.uneven_passes.size() ? job.uneven_passes[trainer] : job.passes;
  return (kTrainExamples * passes + job.batch - 1) / job.batch;
}

/// Gradients of each update; 1 where they are asynchronous.
inline int64_t aggregated(const JobPlan& job) {
  if (job.local) return job.replicas;
  const int64_t trainers = 1 + job.size.workers;
  switch (job.updates) {
    case Updates::kAsync: return 1;
    case Updates::kSync: return trainers;
    case Updates::kSyncWithBackup: return std::max<int64_t>(1, trainers - 1);
    case Updates::kSyncTwiceEach: return 2 * trainers;
  }
  return 1;
}

enum class FaultKind {
  kKill,
  kPower,
  kFreeze,
  kInterrupt,
  kCut,
  kCutOneWay,
  kReset,
  kSlow,
  kWallClock,
  kLateStart,
  kKillInSave,
  kPowerInSave,
  kDiskFull,
  kDiskSlow,
  kDiskError,
  kBitFlip,
  kFolderGone,
  kFolderLate,
  kStartTwice,
  kLeave,
  kLeaveAll,
  kInterruptAll,
  kFolderMoved,
  kOtherJob,
};
inline constexpr int kFaultKinds = 24;
std::string_view to_string(FaultKind kind);

struct Fault {
  FaultKind kind = FaultKind::kKill;
  int64_t step = 0;       ///< The global step that the job reaches before the fault comes.
  Duration after{};       ///< How much later than that step the fault comes.
  Duration lasts{};       ///< How long it takes until the task is started again or thawed, or the link healed.
  std::string task;       ///< The task that it meets.
  std::string other;      ///< The task at the other end, for faults of the network.
  bool for_good = false;  ///< True if the task is never started again.
  int64_t number = 0;     ///< The storage call that kKillInSave and kPowerInSave meet, or the seconds of kWallClock.
};

struct Plan {
  uint64_t seed = 0;
  JobPlan job;
  std::vector<Fault> faults;
  Duration work{}, work_jitter{};
  Duration latency{}, jitter{};
  double loss = 0;
  bool many_parts = false;     ///< True if shards travel in parts, as large ones do.
  bool beside_strand = false;  ///< True if servers apply updates beside their strand, as they do with large ones.
};

/// The task that brings the model and ends the job: "chief 0", also for one process without a cluster, or "master 0".
std::string leader(const JobPlan& job);
bool has_task(const JobPlan& job, std::string_view task);
/// The plan of a seed, which is the same on every machine.
Plan draw_plan(uint64_t seed);
/// Some lines that say all of the plan.
std::string to_string(const Plan& plan);

}  // namespace shoal::simulation
