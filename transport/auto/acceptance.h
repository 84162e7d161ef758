// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The listening side: lets peers in over tcp, and offers those that might be on this machine its shared memory.
#include <list>
#include <memory>
#include <string>
#include <string_view>

#include "shoal/transport/accept_queue.h"
#include "shoal/transport/postbox.h"
#include "shoal/transport/transport.h"

namespace shoal::transport::automatic {

// What is said over tcp before it is decided who carries the messages, in control messages of this verb:
//   the connecting side    ""                    I could share memory
//   the listener           an address of shm     then connect to me there; "": I cannot
//   the connecting side    "shm" or "tcp"        where it is from now on; after "shm" it hangs up here
inline constexpr std::string_view kVerb = "auto";
inline constexpr std::string_view kByShm = "shm";
inline constexpr std::string_view kByTcp = "tcp";

/// Listeners of shm that belong to one of ours are called so, and a number: nobody is sent elsewhere.
inline constexpr std::string_view kRendezvous = "auto-";
inline constexpr size_t kRendezvousDigits = 32;
bool is_rendezvous(std::string_view address);

/// Lives on the strand.
class Acceptance final : public std::enable_shared_from_this<Acceptance> {
 public:
  /// `by_shm` null: peers get tcp.
  Acceptance(std::shared_ptr<Postbox> postbox, LinkOptions options, std::unique_ptr<Listener> by_tcp,
             std::unique_ptr<Listener> by_shm);
  /// Begins to take peers. Once.
  void start();

  const Endpoint& endpoint() const { return queue_->endpoint(); }
  Task<Result<std::unique_ptr<Connection>>> accept(Deadline deadline) { return queue_->accept(deadline); }
  void close();

 private:
  // These end some time after close(), wherever they wait.
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
