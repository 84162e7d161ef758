// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Metrics of a running task. The task updates them, and the endpoint of its process (metrics_endpoint.h) reads them.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "shoal/base/function.h"
#include "shoal/monitor/meters.h"

namespace shoal::monitor {

/// The present activity of a task.
enum class TaskPhase : uint8_t {
  kStarting,    ///< Reads its input, builds its model, or waits for other tasks.
  kTraining,    ///< Makes training steps.
  kSaving,      ///< Writes a checkpoint.
  kEvaluating,  ///< Evaluates a checkpoint.
  kServing,     ///< A parameter server, or an evaluator between evaluations.
  kEnded,       ///< Has ended; its process may still run.
};
/// Returns "starting", "training", "saving", "evaluating", "serving" or "ended".
const char* to_string(TaskPhase phase);

/// Identifies a task; these are labels of all its metrics.
struct TaskLabels {
  std::string role = "local";  ///< "chief", "worker", "ps", "evaluator", "master"; "local" for a task without a cluster.
  int32_t index = 0;
  std::string backend = {};  ///< The backend that computes; empty if unknown.
};

/// Measurements of a finished training step.
struct StepMeasure {
  uint64_t global_step = 0;
  uint64_t examples = 0;  ///< Examples in the task's own batch.
  double loss = 0;        ///< May be NaN or infinite.
  Duration time{};        ///< From the request for weights to the confirmation of the update; includes waiting for input.
};

/// Functions by which other threads reach a task while it runs.
struct TaskAccess {
  /// Runs the work on the task's strand, later. May be called on any thread (Environment::post()). Not null.
  std::function<void(Work)> post;
  /// Bytes that the task has sent and received. `wire` is null for a task without connections.
  struct WireBytes {
    uint64_t sent = 0, received = 0;
  };
  std::function<WireBytes()> wire;
};

/// The updating methods are called on the task's strand or its compute thread, which do not run at the same time. The
/// reading methods may be called on any thread.
class TaskMeters {
 public:
  explicit TaskMeters(TaskLabels labels);

  const TaskLabels& labels() const { return labels_; }
  /// "chief 0", or "local" without a cluster.
  const std::string& name() const { return name_; }

  void set_phase(TaskPhase phase) {
    phase_.store(phase, std::memory_order_relaxed);
    note_progress();
  }
  TaskPhase phase() const { return phase_.load(std::memory_order_relaxed); }
  /// Notes progress of work that keeps the task's strand busy: a step, or a batch of an evaluation.
  void note_progress() { progress_.add(1); }
  uint64_t progress() const { return progress_.value(); }

  void step(const StepMeasure& measure);
  /// Records that a checkpoint of the global step `step` was written in `time`.
  void saved(uint64_t step, Duration time, WallTime now);
  /// Records the results of an evaluation; `metrics` contains global_step.
  void evaluated(const std::map<std::string, double>& metrics);
  /// Records that a server has applied an update, after which the global step is `step`. The update was computed from
  /// weights that were `behind` updates older than the weights to which it was applied.
  void applied(uint64_t step, uint64_t behind);

  struct Evaluation {
    uint64_t count = 0;
    std::map<std::string, double> metrics;
  };
  Evaluation evaluation() const;

  /// While a task is attached, the endpoint may call the functions of `access`. detach() returns once none of them runs.
  void attach(TaskAccess access);
  void detach();
  /// Runs `work` on the strand of the attached task, later. Returns false if no task is attached (attach()).
  bool post(Work work) const;
  TaskAccess::WireBytes wire_bytes() const;

  Gauge global_step, loss, peers_connected, checkpoint_step, checkpoint_time;
  Counter steps, examples, updates;
  TimeCounter input_wait;
  BucketCounts<13> step_seconds, checkpoint_seconds;
  BucketCounts<9> staleness;

 private:
  const TaskLabels labels_;
  const std::string name_;
  std::atomic<TaskPhase> phase_{TaskPhase::kStarting};
  Counter progress_;
  mutable std::mutex mutex_;
  // Guarded by mutex_:
  Evaluation evaluation_;
  TaskAccess access_;
  TaskAccess::WireBytes last_wire_;  // The bytes sent and received up to detach(), which wire_bytes() returns then.
};

/// The tasks of a process. Thread-safe.
class MeterRegistry {
 public:
  std::shared_ptr<TaskMeters> add(TaskLabels labels);
  std::vector<std::shared_ptr<TaskMeters>> tasks() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<TaskMeters>> tasks_;  // Guarded by mutex_.
};

}  // namespace shoal::monitor
