#pragma once
/// What one seed stands for: a job, and the faults that it meets. Drawn from the seed, and then a value like any other, so that
/// a plan that fails can be made smaller fault by fault.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shoal/base/time.h"
#include "shoal/cluster/cluster_spec.h"

namespace shoal::simulation {

enum class ModelKind { kDense, kNormalized, kTable };

/// How pushes become updates, of N trainers.
enum class Updates { kAsync, kSync, kSyncWithBackup, kSyncTwiceEach };

struct JobPlan {
  bool local = false;  ///< one process without a cluster
  int replicas = 1;    ///< ... that computes for so many trainers
  cluster::ClusterSize size;
  ModelKind model = ModelKind::kDense;
  Updates updates = Updates::kAsync;
  int64_t batch = 8;
  int64_t max_steps = 0;   ///< 0: until the input ends
  int64_t passes = 0;      ///< over the data; 0: for ever
  int64_t save_steps = 0;  ///< 0: by time
  double save_secs = 0;
  int64_t keep_max = 5;
  int64_t summary_steps = 100;
  int64_t throttle_secs = 0;
  bool exporters = false;
  std::string compression;  ///< "", "bfloat16", "int8", "top-k"
  double ready_timeout_secs = 120;
  bool named_run = false;                   ///< the launcher names each run (SHOAL_RUN)
  std::optional<int64_t> hook_stops_at{};   ///< a hook of the user asks for a stop once that step is reached
  std::optional<int64_t> hook_throws_at{};  ///< ... throws there, once
  int64_t hook_trainer = 0;                 ///< of which trainer
  std::optional<int64_t>
      more_steps{};  ///< all tasks are started once more after the end, for so many more; 0: the same command
};

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
};
inline constexpr int kFaultKinds = 19;
std::string_view to_string(FaultKind kind);

struct Fault {
  FaultKind kind = FaultKind::kKill;
  int64_t step = 0;       ///< it comes once the job has come so far ...
  Duration after{};       ///< ... and so much later
  Duration lasts{};       ///< until it is started again, thawed, healed
  std::string task;       ///< whom it meets
  std::string other;      ///< with whom, for the network
  bool for_good = false;  ///< it is never started again
  int64_t number = 0;     ///< kKillInSave, kPowerInSave: at which call of its storage; kWallClock: seconds
};

struct Plan {
  uint64_t seed = 0;
  JobPlan job;
  std::vector<Fault> faults;
  Duration work{}, work_jitter{};
  Duration latency{}, jitter{};
  double loss = 0;
  bool beside_strand = false;  ///< servers apply updates beside their strand, as they do with large ones
};

bool has_task(const JobPlan& job, std::string_view task);
/// The same for the same seed, on every machine.
Plan draw_plan(uint64_t seed);
/// Some lines that say all of it.
std::string to_string(const Plan& plan);

}  // namespace shoal::simulation
