// SPDX-License-Identifier: Apache-2.0
#include "launch/inbox.h"

#include <poll.h>
#include <sys/signalfd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "shoal/base/exhaustion.h"

namespace shoal::cli::launch {

SteadyTime steady_now() { return SteadyTime(std::chrono::steady_clock::now().time_since_epoch()); }
WallTime wall_now() { return read_wall_clock(); }

Result<SignalInbox> SignalInbox::open() {
  SignalInbox inbox;
  sigset_t awaited;
  sigemptyset(&awaited);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) {
    struct sigaction now {};
    ::sigaction(signal, nullptr, &now);
    // An ignored SIGHUP or SIGINT stays ignored: nohup, or a script that started this process in the background, wants the
    // process to continue. Blocking the signal, as the awaited signals are blocked below, would undo that.
    const bool disregarded = (signal == SIGHUP || signal == SIGINT) && now.sa_handler == SIG_IGN;
    if (!disregarded) sigaddset(&awaited, signal);
  }
  inbox.reader_ = Descriptor(::signalfd(-1, &awaited, SFD_NONBLOCK | SFD_CLOEXEC));
  if (!inbox.reader_) return unavailable("signals cannot be watched: " + system_error_text(errno));
  ::pthread_sigmask(SIG_BLOCK, &awaited, &inbox.blocked_before_);
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignore, &inbox.pipe_before_);
  struct sigaction standard {};  // SIGCHLD must not be ignored: this process could not learn how a child ended.
  standard.sa_handler = SIG_DFL;
  ::sigaction(SIGCHLD, &standard, &inbox.child_before_);
  return inbox;
}

SignalInbox::SignalInbox(SignalInbox&& other) noexcept
    : stop_signal_(other.stop_signal_),
      reader_(std::move(other.reader_)),
      blocked_before_(other.blocked_before_),
      pipe_before_(other.pipe_before_),
      child_before_(other.child_before_) {}

SignalInbox::~SignalInbox() {
  if (!reader_) return;
  take();  // Discards pending signals: the next line unblocks them, and they would then end this process.
  ::pthread_sigmask(SIG_SETMASK, &blocked_before_, nullptr);
  ::sigaction(SIGPIPE, &pipe_before_, nullptr);
  ::sigaction(SIGCHLD, &child_before_, nullptr);
}

std::vector<int> SignalInbox::take() {
  std::vector<int> signals;
  signalfd_siginfo one{};
  while (::read(reader_.number(), &one, sizeof one) == sizeof one) {
    signals.push_back(int(one.ssi_signo));
    if (signals.back() != SIGCHLD) stop_signal_ = signals.back();
  }
  return signals;
}

std::vector<bool> wait_for_input(std::span<const int> descriptors, std::optional<SteadyTime> until,
                                 std::span<const int> writers) {
  std::vector<pollfd> asked;
  for (const int descriptor : descriptors) asked.push_back({descriptor, POLLIN, 0});
  for (const int writer : writers) asked.push_back({writer, POLLOUT, 0});
  int wait_ms = -1;
  if (until) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*until - steady_now());
    wait_ms = int(std::clamp<int64_t>(left.count(), 0, 3'600'000));
  }
  std::vector<bool> ready(descriptors.size());
  if (::poll(asked.data(), asked.size(), wait_ms) <= 0) return ready;
  for (size_t i = 0; i < ready.size(); ++i) ready[i] = asked[i].revents != 0;
  return ready;
}

}  // namespace shoal::cli::launch
