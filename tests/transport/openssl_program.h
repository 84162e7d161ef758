// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The openssl program, an implementation that is not ours.
#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "raw_peer.h"
#include "shoal/transport/transport.h"

namespace shoal::transport {

/// The program with these words after its name, between two pipes.
class OpenSsl {
 public:
  explicit OpenSsl(std::vector<std::string> words);
  ~OpenSsl();  ///< Kills the program.
  OpenSsl(const OpenSsl&) = delete;
  OpenSsl& operator=(const OpenSsl&) = delete;

  bool runs() const { return id_ > 0; }
  void write(const Bytes& bytes);
  void end_input();
  /// What it prints until `mark` is in it, or it ends; 20 s at most.
  const std::string& read_until(const std::string& mark);
  /// All that it prints.
  const std::string& read_all() { return read_until("there is no such mark: it ends"); }

 private:
  pid_t id_ = -1;
  int in_ = -1, out_ = -1;
  std::string printed_;
};

/// Who got in at `listener`, which is the server's.
struct Guest {
  bool there = false;
  std::optional<PeerIdentity> who;  ///< Known if the guest proved it.
};
/// `meet` on this thread, while the server waits for somebody to get in; whoever does is kept until `meet` returns.
Guest guest_of(Environment& server, Listener& listener, const std::function<void()>& meet);

/// Why the program is none to test with; empty: it is.
std::string openssl_program_missing();

}  // namespace shoal::transport
