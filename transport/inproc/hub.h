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

/// The queue of a listener: connecting tasks add pipes, and accept() takes them out.
struct Backlog {
  std::mutex mutex;
  // `mutex` guards the members from `waiting` to `connection_count`.

  // The pipes that are not yet accepted. Each has a reservation from take_slot(), which slots_taken counts.
  std::deque<std::pair<std::shared_ptr<Pipe>, std::shared_ptr<void>>> waiting;
  bool open = true;
  bool acceptor_waits = false;
  uint64_t connection_count = 0;  // Counts all connections so far, to number the names of the peers.
  // The members below are set once, so they need no lock.

  // The number of connections (pipes) that wait or are accepted. LinkOptions::connections_max limits it.
  std::shared_ptr<std::atomic<int>> slots_taken = std::make_shared<std::atomic<int>>(0);
  LinkOptions options;
  std::string address;
  std::shared_ptr<Postbox> postbox;
  std::shared_ptr<Counters> counters;
  std::shared_ptr<WaitQueue> acceptor;  // In it, accept() waits for a pipe. Used on the listener's strand only.
};

}  // namespace shoal::transport::inproc

struct shoal::transport::InprocHub::State {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<inproc::Backlog>, std::less<>> listeners;  // Guarded by mutex.
  uint64_t next_number = 1;                                                        // Guarded by mutex.
};
