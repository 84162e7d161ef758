// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/fork.h"

#include <pthread.h>

#include <atomic>

namespace shoal {
namespace {

std::atomic<uint32_t> forks = 0;

}  // namespace

uint32_t forks_so_far() {
  // The handler is taken off by the system where we are unloaded.
  static const int watched = pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
  static_cast<void>(watched);  // It fails only without memory, and then a child of fork() ends as it did without this.
  return forks.load(std::memory_order_relaxed);
}

}  // namespace shoal
