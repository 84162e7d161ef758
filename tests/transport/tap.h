// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Somebody in the middle of one connection, who reads along and may change a byte.
#include <atomic>
#include <optional>
#include <thread>

#include "raw_peer.h"

namespace shoal::transport {

class Tap {
 public:
  struct Change {
    size_t at = 0;  ///< Flips a bit of this byte, counted from the beginning.
    bool of_client = true;
  };
  /// Passes one connection on to `to`. Where the connection is shorter than the byte to change, nothing is.
  explicit Tap(const Endpoint& to, std::optional<Change> change = std::nullopt);
  ~Tap();  ///< Cuts the connection.

  Endpoint endpoint() const;
  void hold(bool held);  ///< Passes nothing while it is held.
  void reset();          ///< Gives both ends a reset.
  /// What passed, after the connection has ended.
  struct Recording {
    Bytes of_client, of_server;
  };
  const Recording& recording();

 private:
  void pass_on();
  void pass_between(int client, int server);
  void tell(char order);
  bool pass(int from, int to, bool of_client);

  const Endpoint to_;
  const std::optional<Change> change_;
  int listener_ = -1;
  int orders_[2] = {-1, -1};  // A pipe to the thread, which says: hold, go on, reset, and its end.
  Recording recording_;
  std::thread thread_;
};

}  // namespace shoal::transport
