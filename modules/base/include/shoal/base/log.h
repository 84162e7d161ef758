// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Log lines. Shoal passes them to a sink; their time comes from the Environment. There is no global logger.
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

/// Receives log lines. It is called on any thread, but by one thread at a time (see guarded_sink()). It must copy what it
/// keeps of the record. Logging waits for the sink, so a sink that may be slow (a disk, a network) puts the line into a
/// queue of its own.
using LogSink = std::function<void(const LogRecord&)>;

/// Makes `sink` safe for use by several loggers: all copies of the result together call it from one thread at a time. If
/// the sink throws, the line is lost; a warning before the next line that succeeds says how many were lost, and what was
/// thrown. If the sink itself causes a log line, that line is dropped. An empty sink gives an empty result.
LogSink guarded_sink(LogSink sink);

/// Writes "12:34:56.789 W worker 1: message" to standard error, for levels from `lowest` up. A progress line on the
/// terminal is cleared first (see monitor/progress.h). Lines that cannot be written are dropped; before the next line that
/// can be written, a line says how many were dropped. If the reader of standard error has stopped reading, the first line
/// waits 4 s for it, and further lines are dropped at once until the reader goes on: training does not stop.
LogSink stderr_sink(LogLevel lowest = LogLevel::kInfo);

/// One task's logger: adds time and task name to each line. Thread-safe: calls of several threads reach the sink one at a
/// time (guarded_sink()).
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
  /// Logs only the first of all warnings with the same `cause`.
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
