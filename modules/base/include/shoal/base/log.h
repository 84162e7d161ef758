// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Log lines. The core calls a sink; time comes from the Environment. No global logger.
#include <cstdint>
#include <string>
#include <string_view>

#include "shoal/base/hidden.h"
#include "shoal/base/std_function.h"
#include "shoal/base/time.h"

namespace shoal {

enum class LogLevel : uint8_t { kDebug = 0, kInfo = 1, kWarning = 2, kError = 3 };
std::string_view to_string(LogLevel level);

struct LogRecord {
  LogLevel level;
  WallTime time;
  std::string_view task;  ///< "chief 0", "worker 1", or "" for a local run.
  std::string_view message;
};

/// Where lines go. It is called on any thread, by one thread at a time (see guarded_sink()), and keeps nothing of the record but
/// copies. Whoever logs waits for it, so a sink that may take long (a disk, a network) puts the line into a queue of its own.
using LogSink = std::function<void(const LogRecord&)>;

/// `sink`, for several loggers: all copies of the result together call it by one thread at a time. A line that the sink throws at
/// is lost, and a warning before the next line that it takes says how many were, and what was thrown. A line that the sink itself
/// causes, by calling what logs into it, is dropped. Empty for an empty sink.
LogSink guarded_sink(LogSink sink);

/// Writes "12:34:56.789 W worker 1: message" to standard error from `lowest` up. With a progress line on a terminal the
/// line is cleared first (see monitor/progress.h). Lines that cannot be written are dropped, and counted in a line of their
/// own once lines can be written again.
LogSink stderr_sink(LogLevel lowest = LogLevel::kInfo);

/// One task's logger: adds time and task name, and guards its sink. Thread-safe.
class Logger {
 public:
  Logger(LogSink sink, std::string task, std::function<WallTime()> clock);
  ~Logger();
  Logger(const Logger&) = delete;
  Logger& operator=(const Logger&) = delete;
  void log(LogLevel level, std::string_view message);
  void debug(std::string_view message) { log(LogLevel::kDebug, message); }
  void info(std::string_view message) { log(LogLevel::kInfo, message); }
  void warning(std::string_view message) { log(LogLevel::kWarning, message); }
  void error(std::string_view message) { log(LogLevel::kError, message); }
  /// Logs the first time only for each `cause` (CONTRACT EVT-5).
  void warning_once(std::string_view cause, std::string_view message);
  const std::string& task() const { return task_; }

 private:
  LogSink sink_;
  std::string task_;
  std::function<WallTime()> clock_;
  struct Warned;
  const Hidden<Warned> warned_;
};

}  // namespace shoal
