// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "inproc_connection.h"
#include "shoal/transport/inproc.h"

namespace shoal::transport::inproc {

/// A listener's meeting point: connecting tasks put new pipes here, accept() takes them out.
struct Backlog {
  std::mutex mutex;
  // Guarded by mutex:
  // Pipes that are not yet accepted, with their slots.
  std::deque<std::pair<std::shared_ptr<Pipe>, std::shared_ptr<void>>> waiting;
  bool open = true;
  bool acceptor_waits = false;
  uint64_t connection_count = 0;  // Counts all there ever were; numbers the peers' names.
  // Never change:
  // Counts the ends that wait or are accepted.
  std::shared_ptr<std::atomic<int>> slots_taken = std::make_shared<std::atomic<int>>(0);
  LinkOptions options;
  std::string address;
  std::shared_ptr<Postbox> postbox;
  std::shared_ptr<Counters> counters;
  std::shared_ptr<WaitQueue> acceptor;  // Lives on the listener's strand.
};

}  // namespace shoal::transport::inproc

struct shoal::transport::InprocHub::State {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<inproc::Backlog>, std::less<>> listeners;  // Guarded by mutex.
  uint64_t next_number = 1;                                                        // Guarded by mutex.
};
