// SPDX-License-Identifier: Apache-2.0
#include "signals.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include "guarded.h"
#include "shoal/base/check.h"
#include "shoal/base/exhaustion.h"
#include "shoal/base/prompt_write.h"
#include "shoal/base/start_thread.h"
#include "shoal/base/stop.h"

namespace shoal {
namespace {

// What the signal handler reads and writes. These are globals, since a handler gets no pointer to other data.
std::atomic<int> signals_seen{0};
std::atomic<int> pipe_writer{-1};
constexpr int64_t kOneRequestMs = kOneStopRequest / std::chrono::milliseconds(1);
constexpr int64_t kNoSignalYet = INT64_MAX - kOneRequestMs;
std::atomic<int64_t> first_signal_ms{kNoSignalYet};

static_assert(std::atomic<int>::is_always_lock_free && std::atomic<int64_t>::is_always_lock_free);

int64_t monotonic_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
}

constexpr std::array kWatched{SIGINT, SIGTERM, SIGHUP};

/// The byte that the handler writes to the pipe for a signal: the signal's index among the watched ones.
char letter_of(int signal) { return char(std::ranges::find(kWatched, signal) - kWatched.begin()); }

extern "C" void shoal_on_signal(int number) {
  const int saved_errno = errno;
  const int64_t now = monotonic_ms();
  const bool first = signals_seen.fetch_add(1) == 0;
  if (first) first_signal_ms = now;
  if (!first && now < first_signal_ms.load() + kOneRequestMs) {
    errno = saved_errno;
    return;
  }
  if (!first) {
    constexpr std::string_view kText = "\nshoal: second signal: ended at once\n";
    // Without patience: the user may send this signal because standard error is stuck.
    write_promptly(STDERR_FILENO, kText);
    ::_exit(128 + number);
  }
  const char letter = letter_of(number);
  static_cast<void>(!::write(pipe_writer.load(), &letter, 1));
  errno = saved_errno;
}

void write_letter(char letter) { SHOAL_CHECK(::write(pipe_writer.load(), &letter, 1) == 1); }

/// Reads the next byte from the pipe.
char read_letter(int pipe_reader) {
  for (;;) {
    char letter = 0;
    const ssize_t count = ::read(pipe_reader, &letter, 1);
    if (count == 1) return letter;
    SHOAL_CHECK(count < 0 && errno == EINTR);
  }
}

/// Starts a thread that receives no signals: a handler should interrupt other threads, not the one that waits for the
/// handler.
Result<std::thread> start_quiet_thread(Work work) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  Result<std::thread> thread = start_thread(std::move(work));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace

/// Keeps a list of all SignalWatch objects, and owns what they share: the signal handlers, and a thread that calls the
/// watches' functions. The handlers pass signals to this thread. Thread-safe.
class SignalWatchers {
 public:
  void add(SignalWatch& watch);
  void remove(SignalWatch& watch);

 private:
  Result<void> begin();  // Called before the first watch is added.
  void end();            // Called after the last watch is removed.
  void close_pipe();
  void pass_on();
  void tell_all();

  std::mutex changing_;  // Locked during all of add() and remove(), since begin() and end() may take long.
  std::mutex mutex_;     // Guards the next four members.
  std::condition_variable told_one_;
  std::vector<SignalWatch*> alive_;
  SignalWatch* being_told_ = nullptr;
  int signal_ = 0;  // The first signal; 0: none yet.

  int pipe_reader_ = -1;
  std::thread thread_;
  std::array<struct sigaction, kWatched.size()> previous_{};
};

namespace {

/// Never destroyed, since a watch may live longer than static objects.
SignalWatchers& watchers() {
  static SignalWatchers& all = *new SignalWatchers;
  return all;
}

}  // namespace

Result<void> SignalWatchers::begin() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return unavailable("cannot watch signals: " + system_error_text(errno));
  pipe_reader_ = ends[0];
  pipe_writer = ends[1];
  signals_seen = 0;
  first_signal_ms = kNoSignalYet;
  signal_ = 0;
  Result<std::thread> thread = start_quiet_thread([this] { pass_on(); });
  if (!thread) {
    close_pipe();
    return std::move(thread).error().with_context("cannot watch signals");
  }
  thread_ = std::move(*thread);
  struct sigaction action {};
  action.sa_handler = shoal_on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < kWatched.size(); ++i) {
    ::sigaction(kWatched[i], nullptr, &previous_[i]);
    const bool stays_ignored = kWatched[i] == SIGHUP && previous_[i].sa_handler == SIG_IGN;
    if (!stays_ignored) ::sigaction(kWatched[i], &action, nullptr);
  }
  return {};
}

void SignalWatchers::close_pipe() {
  ::close(pipe_reader_);
  ::close(pipe_writer.exchange(-1));
}

void SignalWatchers::end() {
  for (size_t i = 0; i < kWatched.size(); ++i) ::sigaction(kWatched[i], &previous_[i], nullptr);
  write_letter('q');
  thread_.join();
  close_pipe();
}

void SignalWatchers::pass_on() {
  for (;;) {
    const char letter = read_letter(pipe_reader_);
    if (letter == 'q') return;
    if (size_t(letter) < kWatched.size()) {
      const std::lock_guard lock(mutex_);
      signal_ = kWatched[size_t(letter)];
    }
    tell_all();
  }
}

/// No lock is held during a call of a watch's function: the function may post to environments, which lock their queues.
void SignalWatchers::tell_all() {
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto next = std::find_if(alive_.begin(), alive_.end(), [](const SignalWatch* watch) { return !watch->told_; });
    if (signal_ == 0 || next == alive_.end()) return;
    being_told_ = *next;
    being_told_->told_ = true;
    lock.unlock();
    Work first = [this] { being_told_->first_(signal_ != SIGINT); };
    run_guarded(first, "what a signal starts");
    lock.lock();
    being_told_ = nullptr;
    told_one_.notify_all();
  }
}

void SignalWatchers::add(SignalWatch& watch) {
  const std::lock_guard changing(changing_);
  bool is_first = false;
  {
    const std::lock_guard lock(mutex_);
    is_first = alive_.empty();
    alive_.push_back(&watch);
  }
  if (!is_first) return write_letter('n');  // Wakes pass_on(), which calls the new watch if a signal has come already.
  const Result<void> begun = begin();
  if (begun) return;
  {
    const std::lock_guard lock(mutex_);
    std::erase(alive_, &watch);
  }
  raise_exhausted(begun.error());
}

void SignalWatchers::remove(SignalWatch& watch) {
  const std::lock_guard changing(changing_);
  bool was_last = false;
  {
    std::unique_lock lock(mutex_);
    told_one_.wait(lock, [&] { return being_told_ != &watch; });
    std::erase(alive_, &watch);
    was_last = alive_.empty();
  }
  if (was_last) end();
}

SignalWatch::SignalWatch(First first) : first_(std::move(first)) { watchers().add(*this); }
SignalWatch::~SignalWatch() { watchers().remove(*this); }

}  // namespace shoal
