// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Notices when a trainer waits for its input, and says which stage takes most time and what to change.
#include <memory>
#include <optional>
#include <string>

#include "hooks/progress_hook.h"
#include "shoal/base/environment.h"
#include "shoal/data/iterator.h"
#include "shoal/monitor/event_writer.h"

namespace shoal {

struct InputWatchOptions {
  std::shared_ptr<ProgressHook> progress;  ///< Shows the share of time spent waiting. Null: it is not shown.
  /// Receives the share of each time window that was spent waiting, as scalar "input_wait". A share below a tenth is left
  /// out, except right after a larger one. Null: no events.
  monitor::EventWriter* events = nullptr;
  int cores = 1;                               ///< How many threads the log's advice on the input may propose.
  Duration window = std::chrono::seconds(10);  ///< The length of the time windows that are evaluated.
};

/// Measures the waiting of one trainer. The training loop calls it on the compute thread.
class InputWatch {
 public:
  InputWatch(Environment& env, InputWatchOptions options) : env_(env), options_(std::move(options)) {}

  /// Adds the time that a step waited for its batch.
  void waited(Duration waited) { waited_ += waited; }
  /// Call it at the end of each step: evaluates the window once it is full. With `ends`, at the end of training, it also
  /// evaluates a last window that is at least a fifth as long.
  Result<void> stepped(uint64_t global_step, const data::Iterator& input, bool ends = false);
  /// Drops the current window; the next step begins a new one. So time in which training waited for servers does not count.
  void restart() { begin_.reset(); }
  /// The share of the last full window that was spent waiting, 0 to 1. Nothing before the first window is full.
  const std::optional<double>& share() const { return share_; }

 private:
  Result<void> look(uint64_t global_step, const data::Iterator& input, Duration time);
  void warn(double share, const data::Iterator& input, Duration time);

  Environment& env_;
  const InputWatchOptions options_;
  std::optional<SteadyTime> begin_;  // The start of the current window.
  Duration waited_{};                // How long steps waited for batches in the current window.
  std::optional<double> share_;      // The share of waiting in the last full window.
  bool told_ = false;                // True if the previous window was reported.
  bool warned_ = false;
};

}  // namespace shoal
