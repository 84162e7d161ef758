#include "signals.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "guarded.h"
#include "shoal/base/check.h"

namespace shoal {
namespace {

// Signals belong to the process, and a handler can reach nothing else: hence these globals, used by one SignalWatch.
std::atomic<bool> watched{false};
std::atomic<int> signals_seen{0};
std::atomic<int> pipe_writer{-1};
int pipe_reader = -1;
struct sigaction previous_interrupt, previous_terminate;

static_assert(std::atomic<int>::is_always_lock_free);

extern "C" void shoal_on_signal(int number) {
  const int saved_errno = errno;
  if (signals_seen.fetch_add(1) > 0) {
    constexpr char kText[] = "\nshoal: second signal: ended at once\n";
    static_cast<void>(!::write(STDERR_FILENO, kText, sizeof kText - 1));
    ::_exit(128 + number);
  }
  static_cast<void>(!::write(pipe_writer.load(), "s", 1));
  errno = saved_errno;
}

/// The letter that came through the pipe.
char read_letter() {
  for (;;) {
    char letter = 0;
    const ssize_t count = ::read(pipe_reader, &letter, 1);
    if (count == 1) return letter;
    SHOAL_CHECK(count < 0 && errno == EINTR);
  }
}

/// A thread that no signal is delivered to: the handler should interrupt others, not the one that waits for it.
std::thread start_quiet_thread(Work work) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread(std::move(work));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace

SignalWatch::SignalWatch(Work first) : first_(std::move(first)) {
  SHOAL_CHECK(!watched.exchange(true));  // one environment with handle_signals at a time
  int ends[2];
  SHOAL_CHECK(::pipe2(ends, O_CLOEXEC) == 0);
  pipe_reader = ends[0];
  pipe_writer = ends[1];
  signals_seen = 0;
  thread_ = start_quiet_thread([this] {
    if (read_letter() == 's') {
      run_guarded(first_, "what a signal starts");
      read_letter();  // 'q'
    }
  });
  struct sigaction action{};
  action.sa_handler = shoal_on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, &previous_interrupt);
  ::sigaction(SIGTERM, &action, &previous_terminate);
}

SignalWatch::~SignalWatch() {
  ::sigaction(SIGINT, &previous_interrupt, nullptr);
  ::sigaction(SIGTERM, &previous_terminate, nullptr);
  SHOAL_CHECK(::write(pipe_writer.load(), "q", 1) == 1);
  thread_.join();
  ::close(pipe_reader);
  ::close(pipe_writer.exchange(-1));
  watched = false;
}

}  // namespace shoal
