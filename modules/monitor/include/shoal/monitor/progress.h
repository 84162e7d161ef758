// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Shows the progress of long work: one line that renews itself on a terminal, or plain lines at intervals in a log.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "shoal/base/log.h"
#include "shoal/base/time.h"

namespace shoal::monitor {

enum class ProgressMode : uint8_t {
  kOff,    ///< No display: --quiet, --json.
  kLine,   ///< A line that renews itself on a terminal.
  kPlain,  ///< Lines for a file or a pipe.
};
/// What choose_progress_mode() needs to know. It returns kOff if `quiet` or `json`, else kLine if `renews_lines`, else
/// kPlain.
struct ProgressChoice {
  bool quiet = false;
  bool json = false;
  bool renews_lines = false;  ///< True if standard error is a terminal that can rewrite its line (read_terminal()).
};
ProgressMode choose_progress_mode(ProgressChoice choice);

struct ProgressOptions {
  ProgressMode mode = ProgressMode::kOff;
  Duration line_interval = std::chrono::milliseconds(200);  ///< The time between renewals on a terminal.
  Duration plain_interval = std::chrono::seconds(10);       ///< The time between lines in a log.
  Duration rate_window = std::chrono::seconds(10);          ///< Rates are means over about this long.
  int columns = 80;                                         ///< The terminal's width, to which the line is cut.
};

struct ProgressState {
  int64_t global_step = 0;
  std::optional<int64_t> max_steps;  ///< If set, the display shows the time left.
  int64_t examples = 0;              ///< Examples since the start of this run.
  std::optional<double> loss;
  std::string_view note;  ///< "evaluating", "waiting for ps 1"; shown last.
};

/// Shows lines such as "step 1,200/2,000  loss 0.0312  85.1 steps/s  10,893 examples/s  9 s left". Thread-safe.
class ProgressDisplay {
 public:
  using Write = std::function<void(std::string_view)>;
  /// The display passes each text that it shows to `write`; programs pass write_to_stderr (terminal.h) as `write`.
  ProgressDisplay(ProgressOptions options, Write write);
  /// Calls finish().
  ~ProgressDisplay();

  /// Shows `state` if the interval has passed. Cheap otherwise, so callers call this at every step.
  void update(SteadyTime now, const ProgressState& state);
  /// Shows `state` at once, for new phases and the last step.
  void update_now(SteadyTime now, const ProgressState& state);
  /// Ends the line on a terminal, so that later output starts on a new line.
  void finish();
  /// Returns a sink for log lines: it clears the progress line, passes the log record to `inner`, and shows the progress
  /// line again. The sink may be called after the display is destroyed.
  LogSink wrap(LogSink inner);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// Returns a text such as "3 s", "2 min 5 s", "1 h 20 min".
std::string format_duration(Duration duration);
/// Returns a text such as "12,345", "85.1", "0.31", with about three digits.
std::string format_rate(double per_second);
/// Returns a text such as "512 B", "1.5 KiB", "12.5 MiB".
std::string format_bytes(uint64_t bytes);

}  // namespace shoal::monitor
