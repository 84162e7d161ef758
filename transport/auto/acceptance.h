// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The listener of auto: admits peers over tcp, and offers shared memory to those that may be on the same machine.
#include <list>
#include <memory>
#include <string>
#include <string_view>

#include "shoal/transport/accept_queue.h"
#include "shoal/transport/postbox.h"
#include "shoal/transport/transport.h"

namespace shoal::transport::automatic {

// The two sides agree over tcp on the transport that will carry the messages. They use control messages with this verb:
//   connecting side    ""                    I could share memory
//   listener           an address of shm     then connect to me there; "": I cannot share memory
//   connecting side    "shm" or "tcp"        the transport from now on; after "shm" it closes this connection
inline constexpr std::string_view kVerb = "auto";
inline constexpr std::string_view kByShm = "shm";
inline constexpr std::string_view kByTcp = "tcp";

/// The transport "auto" opens listeners of the transport "shm". Their addresses consist of this prefix and a random number
/// of kRendezvousDigits digits. A peer must not name any other address.
inline constexpr std::string_view kRendezvous = "auto-";
inline constexpr size_t kRendezvousDigits = 32;
bool is_rendezvous(std::string_view address);

/// The listener of the transport "auto". Use it only on the task's strand (the thread of its event loop).
class Acceptance final : public std::enable_shared_from_this<Acceptance> {
 public:
  /// Without `by_shm` (null), all peers use tcp.
  Acceptance(std::shared_ptr<Postbox> postbox, LinkOptions options, std::unique_ptr<Listener> by_tcp,
             std::unique_ptr<Listener> by_shm);
  /// Begins to accept peers. Call it once.
  void start();

  const Endpoint& endpoint() const { return queue_->endpoint(); }
  Task<Result<std::unique_ptr<Connection>>> accept(Deadline deadline) { return queue_->accept(deadline); }
  void close();

 private:
  // close() does not wait for these coroutines. They end some time later, whatever they wait for.
  Task<void> take_from_tcp();
  Task<void> take_from_shm();
  Task<void> negotiate(std::unique_ptr<Connection> peer);
  void admit(std::unique_ptr<Connection> link, std::optional<Message> first);
  Error refusal() const;

  const std::shared_ptr<Postbox> postbox_;
  const LinkOptions options_;
  std::unique_ptr<Listener> by_tcp_;
  std::unique_ptr<Listener> by_shm_;
  const std::shared_ptr<AcceptQueue> queue_;
  bool open_ = true;
  struct Running {
    Task<void> tcp_taker, shm_taker;
    std::list<Task<void>> negotiations;
  };
  Running running_;
};

}  // namespace shoal::transport::automatic
