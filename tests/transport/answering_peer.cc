// SPDX-License-Identifier: Apache-2.0
#include "answering_peer.h"

#include <signal.h>

#include <cstdlib>

#include "child_process.h"
#include "shoal/base/production.h"
#include "tap.h"

namespace shoal::transport {
namespace {

Task<Done> answer_on(Environment& env, Link link) {
  while (true) {
    SHOAL_CO_TRY(Message message, co_await link->receive(env.after(seconds(60))));
    SHOAL_CO_TRY_VOID(co_await link->send(std::move(message), env.after(seconds(60))));
  }
}

/// What the peer does, wherever it runs.
Task<Done> answer(Environment& env, Endpoint to, Duration heartbeat) {
  const LinkOptions options{.heartbeat_interval = heartbeat};
  SHOAL_CO_TRY(Transport* const transport, env.transport(to.scheme));
  SHOAL_CO_TRY(const std::unique_ptr<Listener> listener, transport->listen(any_address(to.scheme), options));
  SHOAL_CO_TRY(Link link, co_await transport->connect(to, options, env.after(seconds(30))));
  Message where = make_control(env.buffers(), "listens", listener->endpoint().address);
  SHOAL_CO_TRY_VOID(co_await link->send(std::move(where), env.after(seconds(30))));
  SHOAL_CO_TRY(Link other, co_await listener->accept(env.after(seconds(30))));
  TaskGroup group(env);
  group.spawn(answer_on(env, std::move(link)));
  group.spawn(answer_on(env, std::move(other)));
  co_return co_await group.join();
}

class PeerProcess final : public AnsweringPeer {
 public:
  PeerProcess(const Endpoint& to, milliseconds heartbeat, bool with_middle)
      : middle_(with_middle ? std::make_unique<Tap>(to) : nullptr),
        process_({"--answer", to_string(middle_ ? middle_->endpoint() : to), std::to_string(heartbeat.count())}) {}
  void stop() override { process_.signal(SIGSTOP); }
  void go_on() override { process_.signal(SIGCONT); }
  void kill() override { process_.kill(); }
  void cut() override { middle_->hold(true); }
  void heal() override { middle_->hold(false); }
  void reset() override { middle_->reset(); }

 private:
  std::unique_ptr<Tap> middle_;
  ChildProcess process_;
};

class PeerTask final : public AnsweringPeer {
 public:
  PeerTask(TwoTasks& tasks, const Endpoint& to, milliseconds heartbeat)
      : world_(tasks.world()), network_(tasks.network()), env_(tasks.add_task("peer")), task_(answer(env_, to, heartbeat)) {
    env_.post([this] { task_.start(); });
  }
  ~PeerTask() override {
    go_on();
    kill();
    world_.run_for(milliseconds(1));
    EXPECT_TRUE(task_.done());
  }
  void stop() override { world_.freeze(env_), network_.set_frozen("peer", true); }
  void go_on() override { world_.thaw(env_), network_.set_frozen("peer", false); }
  void kill() override { world_.kill(env_), network_.process_died("peer"); }
  void cut() override { network_.cut("peer", "server"); }
  void heal() override { network_.heal("peer", "server"); }
  void reset() override { network_.reset("peer", "server"); }

 private:
  VirtualWorld& world_;
  SimNetwork& network_;
  Environment& env_;
  Task<Done> task_;
};

}  // namespace

std::unique_ptr<AnsweringPeer> WithAPeer::start_peer(milliseconds heartbeat, bool with_middle) {
  if (GetParam().virtual_time) return std::make_unique<PeerTask>(tasks, address, heartbeat);
  return std::make_unique<PeerProcess>(address, heartbeat, with_middle);
}

Task<Result<WithAPeer::Both>> WithAPeer::meet() {
  Both both;
  SHOAL_CO_TRY(both.theirs, co_await accept());
  SHOAL_CO_TRY(const Message told, co_await both.theirs->receive(tasks.soon(server)));
  SHOAL_CO_TRY(const Control control, read_control(told));
  Endpoint to{GetParam().scheme, std::string(control.text)};
  SHOAL_CO_TRY(both.ours, co_await tasks.transport(server).connect(std::move(to), options, tasks.soon(server)));
  SHOAL_CO_TRY_VOID(co_await echo(*both.ours, 1));
  co_return both;
}

Task<Done> WithAPeer::echo(Connection& link, uint64_t number) {
  SHOAL_CO_TRY_VOID(co_await link.send(numbered(number), tasks.soon(server)));
  SHOAL_CO_TRY(const Message answered, co_await link.receive(tasks.soon(server)));
  EXPECT_EQ(answered.head.sequence, number);
  co_return Done();
}

std::vector<Setting> settings_with_a_middle() {
  std::vector<Setting> settings = settings_between_processes();
  std::erase_if(settings, [](const Setting& one) { return one.scheme != "tcp" && one.scheme != "sim"; });
  return settings;
}

}  // namespace shoal::transport

/// The program of such a peer, until it is killed.
int answering_peer(const char* endpoint, const char* heartbeat_ms) {
  using namespace shoal;
  using namespace shoal::transport;
  const auto to = parse_endpoint(endpoint);
  if (!to) return 2;
  const auto env = make_production_environment({.task = "child", .transports = built_in_transports()});
  return env->run(answer(*env, *to, milliseconds(std::atoi(heartbeat_ms)))) ? 0 : 1;
}
