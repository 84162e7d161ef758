#include "shoal/base/log.h"

#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <utility>

#include "shoal/base/check.h"

namespace shoal {
namespace {

char letter_of(LogLevel level) { return "DIWE"[size_t(level)]; }

/// "12:34:56.789", local time.
std::string clock_text(WallTime time) {
  using namespace std::chrono;
  const auto whole = floor<seconds>(time);
  const std::time_t unix_seconds = std::time_t(whole.time_since_epoch().count());
  std::tm local{};
  localtime_r(&unix_seconds, &local);
  char text[32];
  std::snprintf(text, sizeof text, "%02d:%02d:%02d.%03d", local.tm_hour, local.tm_min, local.tm_sec,
                int(duration_cast<milliseconds>(time - whole).count()));
  return text;
}

/// One call per line: stdio locks, so that lines of several tasks do not mix. False if it could not be written: its reader is
/// gone, or its disk is full.
bool put_line(const std::string& line) { return std::fwrite(line.data(), 1, line.size(), stderr) == line.size(); }

std::string lost_lines(uint64_t count) {
  return "(" + std::to_string(count) + (count == 1 ? " line" : " lines") + " of the log could not be written here)\n";
}

}  // namespace

std::string_view to_string(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug: return "debug";
    case LogLevel::kInfo: return "info";
    case LogLevel::kWarning: return "warning";
    case LogLevel::kError: return "error";
  }
  return "unknown";
}

LogSink stderr_sink(LogLevel lowest) {
  const bool terminal = isatty(STDERR_FILENO) == 1;
  return [lowest, terminal, lost = uint64_t(0)](const LogRecord& record) mutable {
    if (record.level < lowest) return;
    if (lost > 0 && put_line(lost_lines(lost))) lost = 0;
    std::string line;
    line.reserve(record.message.size() + record.task.size() + 32);
    if (terminal) line += "\r\x1b[K";  // A progress line may stand here.
    line += clock_text(record.time);
    line += ' ';
    line += letter_of(record.level);
    line += ' ';
    if (!record.task.empty()) line.append(record.task).append(": ");
    line.append(record.message).append("\n");
    if (!put_line(line)) ++lost;
  };
}

Logger::Logger(LogSink sink, std::string task, std::function<WallTime()> clock)
    : sink_(std::move(sink)), task_(std::move(task)), clock_(std::move(clock)) {
  SHOAL_CHECK(clock_ != nullptr);
}

void Logger::log(LogLevel level, std::string_view message) {
  if (!sink_) return;
  const LogRecord record{level, clock_(), task_, message};
  std::lock_guard lock(mutex_);  // Held across the sink, which is promised one call at a time.
  sink_(record);
}

void Logger::warning_once(std::string_view cause, std::string_view message) {
  {
    std::lock_guard lock(mutex_);
    if (!warned_.emplace(cause).second) return;
  }
  warning(message);
}

}  // namespace shoal
