// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A task that answers, and to which things happen: a process of its own, or a task of a virtual world.
#include "transports.h"

namespace shoal::transport {

/// Connects, says where it listens, and answers there and here with what it hears, until something happens to it.
class AnsweringPeer {
 public:
  virtual ~AnsweringPeer() = default;  ///< Kills the peer.
  virtual void stop() = 0;             ///< Sends SIGSTOP.
  virtual void go_on() = 0;            ///< Sends SIGCONT.
  virtual void kill() = 0;             ///< Does what kill -9 does.
  // What happens to the connection that it made (needs somebody in the middle):
  virtual void cut() = 0;    ///< Nothing passes any more, and nobody is told.
  virtual void heal() = 0;   ///< What was held back passes.
  virtual void reset() = 0;  ///< Both ends get a reset.
};

/// The fixture of tests with such a peer; `server` is whom it connects to. Those who ask for somebody in the middle need a
/// setting where that is possible.
class WithAPeer : public Transports {
 protected:
  static constexpr milliseconds kInterval{250};  // The interval of our heartbeats.
  static constexpr milliseconds kLong{5000};     // The interval of a peer that nobody suspects while its test runs.

  void SetUp() override {
    options.heartbeat_interval = kInterval;
    Transports::SetUp();
  }
  void listen_with(milliseconds heartbeat) {
    options.heartbeat_interval = heartbeat;
    listen_again();
  }
  std::unique_ptr<AnsweringPeer> start_peer(milliseconds heartbeat, bool with_middle = false);

  /// The connections with it: one that it made, and one that we made.
  struct Both {
    Link theirs, ours;
    Connection& operator[](bool we_connected) { return we_connected ? *ours : *theirs; }
  };
  Task<Result<Both>> meet();
  /// It answers.
  Task<Done> echo(Connection& link, uint64_t number);
  void run(Task<Done> task) {
    const Done done = server.run(std::move(task));
    EXPECT_TRUE(done) << done.error().message();
  }
};

/// Settings in which somebody can stand in the middle.
std::vector<Setting> settings_with_a_middle();

}  // namespace shoal::transport
