// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Numbers of a running task for whoever watches it: the task counts, and the endpoint of its process (metrics_endpoint.h) reads.
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

/// What a task is doing.
enum class TaskPhase : uint8_t {
  kStarting,    ///< It reads its input, builds its model, or waits for the others.
  kTraining,    ///< It makes steps.
  kSaving,      ///< It writes a checkpoint.
  kEvaluating,  ///< It evaluates a checkpoint.
  kServing,     ///< It is a parameter server, or an evaluator between evaluations.
  kEnded,       ///< It is through, and its process may go on to other things.
};
/// "starting", "training", "saving", "evaluating", "serving", "ended".
const char* to_string(TaskPhase phase);

/// Which task it is: labels of all that is said of it.
struct TaskLabels {
  std::string role = "local";  ///< "chief", "worker", "ps", "evaluator", "master"; "local" for a task without a cluster.
  int32_t index = 0;
  std::string backend = {};  ///< What computes; empty: it is not known.
};

/// Of one finished training step.
struct StepMeasure {
  uint64_t global_step = 0;
  uint64_t examples = 0;  ///< How many examples the task's own batch had.
  double loss = 0;        ///< May be NaN or infinite.
  Duration time{};  ///< From the request for the weights to the answer that the update counts, the wait for input included.
};

/// How a task can be reached from another thread while it runs.
struct TaskAccess {
  /// Runs the work on the task's strand, later; any thread (Environment::post()). Not null.
  std::function<void(Work)> post;
  /// Bytes that the task has sent and received; null where it talks to nobody.
  struct WireBytes {
    uint64_t sent = 0, received = 0;
  };
  std::function<WireBytes()> wire;
};

/// Each method that counts belongs to the task's strand or compute thread, which do not run at once; all that read may be called from
/// any thread.
class TaskMeters {
 public:
  explicit TaskMeters(TaskLabels labels);

  const TaskLabels& labels() const { return labels_; }
  /// "chief 0"; "local" without a cluster.
  const std::string& name() const { return name_; }

  void set_phase(TaskPhase phase) {
    phase_.store(phase, std::memory_order_relaxed);
    note_progress();
  }
  TaskPhase phase() const { return phase_.load(std::memory_order_relaxed); }
  /// The task has got on with work that keeps its strand busy: a step, a batch of an evaluation.
  void note_progress() { progress_.add(1); }
  uint64_t progress() const { return progress_.value(); }

  void step(const StepMeasure& measure);
  /// A checkpoint of the global step `step` was written in `time`.
  void saved(uint64_t step, Duration time, WallTime now);
  /// The results of an evaluation; `metrics` has global_step among them.
  void evaluated(const std::map<std::string, double>& metrics);
  /// A server has applied an update that was computed from weights `behind` updates older than those that it is added to. The global
  /// step is `step` then.
  void applied(uint64_t step, uint64_t behind);

  struct Evaluation {
    uint64_t count = 0;
    std::map<std::string, double> metrics;
  };
  Evaluation evaluation() const;

  /// While attached, the endpoint may reach the task. detach() returns once nobody is inside one of the functions.
  void attach(TaskAccess access);
  void detach();
  /// False where the task is not attached.
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
  TaskAccess::WireBytes last_wire_;  // Counts stay when the task is detached.
};

/// The tasks of a process. Any thread.
class MeterRegistry {
 public:
  std::shared_ptr<TaskMeters> add(TaskLabels labels);
  std::vector<std::shared_ptr<TaskMeters>> tasks() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<TaskMeters>> tasks_;  // Guarded by mutex_.
};

}  // namespace shoal::monitor
