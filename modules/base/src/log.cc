// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/log.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <unordered_set>
#include <utility>

#include "shoal/base/check.h"
#include "shoal/base/environment.h"
#include "shoal/base/fork.h"
#include "shoal/base/prompt_write.h"

namespace shoal {
namespace {

char letter_of(LogLevel level) { return "DIWE"[size_t(level)]; }

/// Local time as "12:34:56.789".
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

std::string lost_lines(uint64_t count) {
  return "(" + std::to_string(count) + (count == 1 ? " line" : " lines") + " of the log could not be written here)\n";
}

/// Lines on standard error. Training does not stop for a reader that has stopped reading: the first line that such a reader
/// does not take waits a while, and the lines after it are refused at once until the reader goes on. Thread-safe, since all
/// copies of a sink share one object, whichever logger has them: a wait for each logger would add up.
class StandardError {
 public:
  /// Writes a line at once, so that lines of several tasks do not mix. Counts it as lost if it could not be written: the
  /// reader of standard error is gone or has stopped reading, or the disk is full.
  void put(std::string_view line) {
    const uint64_t lost = lost_.exchange(0);
    if (lost > 0 && !write(lost_lines(lost))) {
      lost_ += lost + 1;
    } else if (!write(line)) {
      lost_ += 1;
    }
  }

 private:
  // Longer than the patience of `shoal launch` with its own readers, during which it may not read from its tasks.
  static constexpr std::chrono::seconds kPatience{4};

  bool write(std::string_view line) {
    const auto patience = is_stuck_ ? std::chrono::seconds(0) : kPatience;
    const std::string text = (in_line_ ? "\n" : "") + std::string(line);
    const PromptWrite written = write_promptly(STDERR_FILENO, text, patience);
    is_stuck_ = written.error == EAGAIN;
    if (written.bytes > 0) in_line_ = written.bytes < text.size();
    return written.error == 0;
  }

  std::atomic<bool> is_stuck_{false};
  std::atomic<bool> in_line_{false};  // True after a line of which only the begin was written.
  std::atomic<uint64_t> lost_{0};
};

/// Calls a user's sink, one thread at a time.
class GuardedSink {
 public:
  explicit GuardedSink(LogSink sink) : sink_(std::move(sink)) {}

  void take(const LogRecord& record) {
    let_go_after_fork();
    const std::thread::id self = std::this_thread::get_id();
    if (inside_.load(std::memory_order_relaxed) == self) return;
    const std::lock_guard lock(mutex_);
    inside_.store(self, std::memory_order_relaxed);
    const bool told = lost_ == 0 || hand_over({LogLevel::kWarning, record.time, record.task, lost_text()});
    if (told) lost_ = 0;
    if (!told || !hand_over(record)) ++lost_;
    inside_.store(std::thread::id(), std::memory_order_relaxed);
  }

 private:
  bool hand_over(const LogRecord& record) {
    const Result<void> taken = call_user("the log sink", [&] { sink_(record); });
    if (!taken) why_ = taken.error().message();
    return taken.has_value();
  }
  std::string lost_text() const {
    return std::to_string(lost_) + (lost_ == 1 ? " line" : " lines") + " of the log did not reach this sink: " + why_;
  }
  /// In a child of fork(), replaces the mutex by a new one. A thread of the parent may have locked the old mutex, and
  /// nobody would unlock it in the child, which does not have that thread.
  void let_go_after_fork() {
    const uint32_t now = forks_so_far();
    if (forks_.exchange(now, std::memory_order_relaxed) == now) return;
    new (&mutex_) std::mutex;
    inside_.store(std::thread::id(), std::memory_order_relaxed);
  }

  const LogSink sink_;
  std::atomic<uint32_t> forks_ = forks_so_far();
  std::mutex mutex_;
  std::atomic<std::thread::id> inside_{};  // The thread that runs the sink; written with mutex_ locked.
  uint64_t lost_ = 0;                      // mutex_ guards lost_ and why_.
  std::string why_;
};

}  // namespace

LogSink guarded_sink(LogSink sink) {
  if (!sink) return sink;
  return [guarded = std::make_shared<GuardedSink>(std::move(sink))](const LogRecord& record) { guarded->take(record); };
}

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
  return [lowest, terminal, to = std::make_shared<StandardError>()](const LogRecord& record) {
    if (record.level < lowest) return;
    std::string line;
    line.reserve(record.message.size() + record.task.size() + 32);
    if (terminal) line += "\r\x1b[K";  // Clears a progress line that the terminal may show.
    line += clock_text(record.time);
    line += ' ';
    line += letter_of(record.level);
    line += ' ';
    if (!record.task.empty()) line.append(record.task).append(": ");
    line.append(record.message).append("\n");
    to->put(line);
  };
}

/// The causes that warning_once() has warned of.
struct Logger::Warned {
  std::mutex mutex;
  std::unordered_set<std::string> causes;  // Guarded by `mutex`.
};

Logger::Logger(LogSink sink, std::string task, std::function<WallTime()> clock)
    : sink_(guarded_sink(std::move(sink))), task_(std::move(task)), clock_(std::move(clock)), warned_(new Warned) {
  SHOAL_CHECK(clock_ != nullptr);
}

Logger::~Logger() = default;

void Logger::log(LogLevel level, std::string_view message) {
  if (!sink_) return;
  sink_({level, clock_(), task_, message});
}

void Logger::warning_once(std::string_view cause, std::string_view message) {
  {
    std::lock_guard lock(warned_->mutex);
    if (!warned_->causes.emplace(cause).second) return;
  }
  warning(message);
}

}  // namespace shoal
