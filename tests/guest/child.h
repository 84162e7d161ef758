// SPDX-License-Identifier: Apache-2.0
#pragma once
// A child of fork(), as a test sees it.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <thread>

namespace shoal::testing {

using namespace std::chrono_literals;

constexpr int kOwn = 17;  ///< The status of a child that found everything as it should be.

/// The status of a child that does `work` and exits, with everything that a process does as it exits; -1 where a signal ended
/// it, -2 where it did not end.
inline int status_of_child(const std::function<int()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    int status = 99;
    try {
      status = work();
    } catch (const std::exception& error) {
      fprintf(stderr, "in the child: %s\n", error.what());
    }
    std::exit(status);  // NOLINT: the destructors of statics are what is tested.
  }
  for (const auto end = std::chrono::steady_clock::now() + 60s; std::chrono::steady_clock::now() < end;) {
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child) return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    std::this_thread::sleep_for(2ms);  // There is no event of a child's end that has a deadline.
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return -2;
}

}  // namespace shoal::testing
