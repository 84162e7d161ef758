// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/fork.h"

#include <pthread.h>

#include <atomic>

namespace shoal {
namespace {

std::atomic<uint32_t> forks = 0;

}  // namespace

uint32_t forks_so_far() {
  // The system removes the handler when this library is unloaded.
  static const int watched = pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
  static_cast<void>(watched);  // A failure (no memory) goes unreported: a child of fork() is then not recognised.
  return forks.load(std::memory_order_relaxed);
}

}  // namespace shoal
