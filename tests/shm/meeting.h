// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A listener at one task of this process and a client at the other, over shm.
#include <filesystem>
#include <functional>
#include <string>

#include "shoal/base/production.h"
#include "two_tasks.h"

namespace shoal::transport {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using Done = Result<void>;
using Connected = std::unique_ptr<Connection>;

inline constexpr uint64_t kBig = uint64_t(1) << 30;

class Shm : public testing::Test {
 protected:
  explicit Shm(Duration spin = {}) : tasks({.scheme = "shm", .spin = spin}) {}

  TwoTasks tasks;
  Environment& server = tasks.server();
  Environment& client = tasks.client();
  LinkOptions options{.receive_bytes_max = kBig};
  std::unique_ptr<Listener> listener;

  Result<void> listen(const std::string& address = "here:0");
  Task<Result<Connected>> accept() { return listener->accept(tasks.soon(server)); }
  Task<Result<Connected>> connect() {
    return tasks.transport(client).connect(listener->endpoint(), options, tasks.soon(client));
  }
  /// One side connected to the other; each does its part with its end.
  using Part = std::function<Task<Done>(Connection&)>;
  void meet(Part served, Part called);
  /// Waits until `holds` does, or fails the test.
  Task<Done> until(Environment& env, std::function<bool()> holds);
  uint64_t bytes_copied();
  static Task<Done> wait_for_end(Connection& link, Deadline deadline);
};

/// Lines of /proc/self/maps that have both texts in them.
size_t mapped(const std::string& what, const std::string& access = "");
/// The line of /proc/self/maps that `address` falls into.
std::string mapping_of(const void* address);

}  // namespace shoal::transport
