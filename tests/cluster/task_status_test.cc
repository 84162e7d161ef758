// SPDX-License-Identifier: Apache-2.0
/// A stranger asks a parameter server how it is, and changes nothing by that (CONTRACT CL-18,
/// docs/decisions/job-status.md).
#include "shoal/cluster/task_status.h"

#include "remote_store_fixture.h"

namespace shoal::cluster {
namespace {

using testing::HasSubstr;

const transport::Endpoint kFirstServer{"sim", "ps-0:1"};

class AskedServers : public RemoteStoreTest {
 protected:
  TaskStatus ask(const std::string& server = "ps-0:1") {
    Environment& asker = add_task("asker " + std::to_string(++asked_));
    return value_or_raise(run(asker, ask_status(asker, {"sim", server}, {}, asker.after(5 * kSecond))));
  }
  int asked_ = 0;
};

PeerStatus peer(std::string task, bool connected, std::string address = "") {
  return {.task = std::move(task), .connected = connected, .address = std::move(address)};
}

TEST(TaskStatusText, ComesBackAsItWas) {
  const TaskStatus status{.role = "ps",
                          .index = 2,
                          .phase = "ready",
                          .global_step = 1234567890123,
                          .run = "slurm 7.0",
                          .peers = {peer("chief 0", true, "a:1"), peer("worker 0", false)}};
  EXPECT_EQ(value_or_raise(parse_task_status(to_json(status))), status);
  TaskStatus starved = status;
  starved.peers[1].input_wait = 0.75;
  EXPECT_EQ(value_or_raise(parse_task_status(to_json(starved))), starved);
  starved.peers[1].input_wait = 1.5;
  expect_error(parse_task_status(to_json(starved)), ErrorKind::kDataLoss, "input_wait");
  TaskStatus without = status;
  without.global_step.reset();
  EXPECT_EQ(value_or_raise(parse_task_status(to_json(without))), without);
}

TEST(TaskStatusText, RefusesWhatIsNone) {
  const std::string good = to_json(TaskStatus{.role = "ps", .index = 0, .phase = "ready", .run = {}, .peers = {}});
  const auto with = [&](const std::string& part, const std::string& other) {
    std::string text = good;
    return text.replace(text.find(part), part.size(), other);
  };
  for (const std::string& text :
       {std::string(), std::string("[]"), with("\"ps\"", "7"), with("\"index\":0", "\"index\":-1"),
        with("\"global_step\":null", "\"global_step\":-1"), with("\"peers\":[]", "\"peers\":[7]"),
        with("\"ready\"", "\"" + std::string(101, 'x') + "\"")}) {
    expect_error(parse_task_status(text), ErrorKind::kDataLoss, "status");
  }
}

TEST_F(AskedServers, SayTheirPhaseStepAndPeers) {
  start_server(0);
  start_server(1);
  world_.run_for(kSecond);
  const TaskStatus empty = ask();
  EXPECT_EQ(empty.role, "ps");
  EXPECT_EQ(empty.index, 0);
  EXPECT_EQ(empty.phase, "empty");
  EXPECT_EQ(empty.global_step, std::nullopt);
  const std::vector<PeerStatus> nobody{peer("chief 0", false), peer("worker 0", false), peer("ps 1", true, "ps-1:1")};
  EXPECT_EQ(empty.peers, nobody);

  chief_env_ = &add_task("chief 0");
  chief_ = chief_store(*chief_env_);
  ASSERT_TRUE(run(*chief_env_, prepare(*chief_env_, *chief_)));
  ASSERT_EQ(value_or_raise(run(*chief_env_, steps(*chief_env_, *chief_, 3))), 3);
  const TaskStatus ready = ask();
  EXPECT_EQ(ready.phase, "ready");
  EXPECT_EQ(ready.global_step, 3u);
  EXPECT_TRUE(ready.peers[0].connected);
  EXPECT_FALSE(ready.peers[1].connected);
  const TaskStatus second = ask("ps-1:1");
  EXPECT_EQ(second.index, 1);
  EXPECT_EQ(second.global_step, 3u);
  EXPECT_EQ(second.peers.size(), 2u);
}

TEST_F(AskedServers, GoOnAsIfNobodyHadAsked) {
  start_ready_cluster();
  Environment* worker_env = nullptr;
  auto worker = start_worker(worker_env);
  const std::string before = logs();
  for (int i = 0; i < 50; ++i) EXPECT_EQ(ask().peers[1], peer("worker 0", true));
  EXPECT_EQ(logs(), before);  // Neither a task nor a refusal was logged.
  EXPECT_EQ(value_or_raise(run(*chief_env_, steps(*chief_env_, *chief_, 2))), 2);
  EXPECT_TRUE(run(*worker_env, worker->leave(worker_env->after(kSecond))));
  EXPECT_TRUE(run(*chief_env_, finish_job(*chief_env_, *chief_)));
  expect_servers_end_well();
}

/// A peer that asks for the status is no trainer: a server that nobody trains on leaves all the same.
TEST_F(AskedServers, AreLonelyWithThoseWhoAsk) {
  start_server(0, {.ready_timeout = 20});
  for (int i = 0; i < 15; ++i) {
    EXPECT_EQ(ask().phase, "empty");
    world_.run_for(kSecond);
  }
  world_.run_for(6 * kSecond);
  ASSERT_TRUE(server_done(0));
  expect_error(server_result(0), ErrorKind::kDeadlineExceeded, "waiting for chief or workers: none was connected for 20 s");
}

/// A connection that asks nothing, and one whose owner stands still before it reads the answer.
TEST_F(AskedServers, DoNotWaitForAFrozenAsker) {
  start_ready_cluster();
  Environment& frozen = add_task("frozen");
  std::unique_ptr<transport::Connection> silent, deaf;
  const auto connect = [&](std::unique_ptr<transport::Connection>& to) -> Task<Result<void>> {
    SHOAL_CO_TRY(transport::Transport * transport, frozen.transport("sim"));
    auto connecting = transport->connect(kFirstServer, {}, frozen.after(kSecond));
    SHOAL_CO_TRY(to, co_await std::move(connecting));
    co_return Result<void>{};
  };
  ASSERT_TRUE(run(frozen, connect(silent)));
  ASSERT_TRUE(run(frozen, connect(deaf)));
  transport::Message question = transport::make_control(frozen.buffers(), kStatusVerb);
  ASSERT_TRUE(deaf->try_send(question));
  world_.run_for(kSecond);
  network_->cut("frozen", "ps 0");
  EXPECT_EQ(value_or_raise(run(*chief_env_, steps(*chief_env_, *chief_, 2))), 2);
  EXPECT_EQ(ask().global_step, 2u);
  EXPECT_TRUE(run(*chief_env_, finish_job(*chief_env_, *chief_)));
  expect_servers_end_well();  // Within a second.
}

TEST_F(AskedServers, ThatAreNotThereAreAnErrorInTime) {
  Environment& asker = add_task("asker");
  expect_error(run(asker, ask_status(asker, kFirstServer, {}, asker.after(kSecond))), ErrorKind::kUnavailable,
               "sim://ps-0:1");
  start_server(0);
  world_.run_for(kSecond);
  network_->cut("asker", "ps 0");
  const double before = seconds();
  const auto unanswered = run(asker, ask_status(asker, kFirstServer, {}, asker.after(3 * kSecond)));
  ASSERT_FALSE(unanswered);
  EXPECT_THAT(unanswered.error().message(), HasSubstr("sim://ps-0:1"));
  EXPECT_LE(seconds() - before, 3.1);
}

}  // namespace
}  // namespace shoal::cluster
