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
  std::deque<std::pair<std::shared_ptr<Pipe>, std::shared_ptr<void>>> waiting;  // not yet accepted, with their slots
  bool open = true;
  bool acceptor_waits = false;
  uint64_t connection_count = 0;  // ever; numbers the peers' names
  // Never change:
  std::shared_ptr<std::atomic<int>> slots_taken = std::make_shared<std::atomic<int>>(0);  // by waiting and accepted ends
  LinkOptions options;
  std::string address;
  std::shared_ptr<Postbox> postbox;
  std::shared_ptr<Counters> counters;
  std::shared_ptr<WaitQueue> acceptor;  // of the listener's strand
};

}  // namespace shoal::transport::inproc

struct shoal::transport::InprocHub::State {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<inproc::Backlog>, std::less<>> listeners;  // guarded by mutex
  uint64_t next_number = 1;                                                       // guarded by mutex
};
