// SPDX-License-Identifier: Apache-2.0
/// Tasks that know rank, size and one address meet, and are restarted, in virtual time (CONTRACT LA-2).
#include "shoal/cluster/rendezvous.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "shoal/base/random.h"
#include "shoal/base/virtual.h"
#include "shoal/cluster/cluster_spec.h"
#include "shoal/cluster/task_status.h"
#include "shoal/transport/sim.h"

namespace shoal::cluster {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;

constexpr auto kTimeout = 600s;

class RendezvousTest : public testing::Test {
 protected:
  explicit RendezvousTest(uint64_t seed = 1)
      : network_(std::make_shared<transport::SimNetwork>(seed, transport::SimLink{.latency = 1ms, .jitter = 1ms})),
        world_(VirtualWorldOptions{.seed = seed, .shuffled = true}) {}

  /// One process of a rank, from its start to its end.
  struct Process {
    std::string name;
    Environment* env = nullptr;
    std::shared_ptr<const VirtualProgram> program;
    std::optional<Result<Gathering>> met;
  };

  /// A chief, a server, workers, an evaluator, by rank.
  static Place place(int32_t rank, int32_t size = 4) {
    return {.source = ConfigSource::kOption,
            .rank = rank,
            .size = size,
            .rendezvous = {"job:4000"},
            .plan = value_or_raise(plan_of(size, 1, true))};
  }

  Process& start(Place place, std::string name = "") {
    if (name.empty()) name = "rank " + std::to_string(place.rank);
    const auto owned = std::make_shared<Process>();
    processes_.push_back(owned);
    Process& process = *owned;
    process.name = name;
    process.env = &world_.add_task(
        {.task = name,
         .sink = [this, name](const LogRecord& record) { log_ += name + ": " + std::string(record.message) + "\n"; },
         .transports = {{"sim", transport::sim_factory(network_, name)}},
         .process = {.host_name = "host of " + std::to_string(place.rank)}});
    process.program = world_.start(*process.env, [this, &process, place = std::move(place)] {
      Rendezvous rendezvous(
          *process.env,
          {.place = place, .meeting_scheme = "sim", .task_scheme = "sim", .bind = {}, .link = {}, .timeout = timeout_});
      process.met = process.env->run(rendezvous.meet());
      if (*process.met) static_cast<void>(process.env->run(process.env->sleep_for(24h)));
      static_cast<void>(process.env->run(rendezvous.close()));
    });
    return process;
  }

  void kill(Process& process) {
    network_->process_died(process.name);
    world_.kill(*process.env);
  }

  std::vector<Process*> start_all(int32_t size = 4) {
    std::vector<Process*> all;
    for (int32_t rank = 0; rank < size; ++rank) all.push_back(&start(place(rank, size)));
    return all;
  }
  std::vector<Process*> start_all_and_meet() {
    const std::vector<Process*> all = start_all();
    world_.run_for(5s);
    for (const Process* process : all) expect_met(*process);
    return all;
  }

  static Gathering met(const Process& process) {
    expect_met(process);
    return process.met && *process.met ? **process.met : Gathering{};
  }
  static void expect_met(const Process& process) {
    ASSERT_TRUE(process.met) << process.name << " still waits";
    EXPECT_TRUE(*process.met) << process.name << ": " << (*process.met ? "" : process.met->error().message());
  }
  template <class Matcher>
  static void expect_failed(const Process& process, ErrorKind kind, const Matcher& matcher) {
    ASSERT_TRUE(process.met) << process.name << " still waits";
    ASSERT_FALSE(*process.met) << process.name;
    EXPECT_EQ(process.met->error().kind(), kind) << process.met->error().message();
    EXPECT_THAT(process.met->error().message(), matcher);
  }
  const std::string& log() const { return log_; }

  Duration timeout_ = kTimeout;
  std::string log_;
  std::vector<std::shared_ptr<Process>> processes_;
  std::shared_ptr<transport::SimNetwork> network_;
  VirtualWorld world_;
};

/// The same in other orders and with other delays.
class AnyOrder : public RendezvousTest, public testing::WithParamInterface<uint64_t> {
 protected:
  AnyOrder() : RendezvousTest(GetParam()) {}
};
INSTANTIATE_TEST_SUITE_P(Seeds, AnyOrder, testing::Range<uint64_t>(1, 21));

TEST_P(AnyOrder, EveryoneIsGivenTheSame) {
  constexpr int32_t kSize = 8;
  std::vector<int32_t> ranks{0, 1, 2, 3, 4, 5, 6, 7};
  RandomStream random(GetParam());
  std::vector<Process*> all;
  while (!ranks.empty()) {
    const auto at = ranks.begin() + ptrdiff_t(random.below(ranks.size()));
    all.push_back(&start(place(*at, kSize)));
    ranks.erase(at);
    world_.run_for(std::chrono::milliseconds(random.below(8000)));
  }
  world_.run_for(3s);
  const Gathering first = met(*all.front());
  for (const Process* process : all) EXPECT_EQ(met(*process), first) << process->name;
  ASSERT_THAT(first.addresses, SizeIs(kSize));
  EXPECT_EQ(first.addresses.back(), "");  // The address of the evaluator.
  const std::set<std::string> different(first.addresses.begin(), first.addresses.end());
  EXPECT_THAT(different, SizeIs(kSize));
  for (int32_t rank = 0; rank + 1 < kSize; ++rank) {
    EXPECT_EQ(value_or_raise(parse_host_port(first.addresses[size_t(rank)])).host, "job");
    EXPECT_EQ(first.host_names[size_t(rank)], "host of " + std::to_string(rank));
  }
  // Ports are free again: each task listens there itself.
  EXPECT_THAT(network_->listening(), testing::ElementsAre("job:4000"));
}

/// A peer that asks rank 0 for its status is told who is connected, and gets no rank.
class AskedRendezvous : public RendezvousTest {
 protected:
  TaskStatus ask() {
    Environment& env = world_.add_task(
        {.task = "asker", .transports = {{"sim", transport::sim_factory(network_, "asker")}}, .process = {}});
    std::optional<Result<TaskStatus>> status;
    const auto program = world_.start(env, [&] {
      status = env.run(ask_status(env, {"sim", "job:4000"}, {}, env.after(5s)));
    });
    world_.run_for(6s);
    return value_or_raise(std::move(status).value());
  }
};

TEST_F(AskedRendezvous, SaysWhoIsThere) {
  start(place(0));
  start(place(2));
  world_.run_for(1s);
  const TaskStatus meeting = ask();
  EXPECT_EQ(meeting.role, "chief");
  EXPECT_EQ(meeting.phase, "meeting");
  EXPECT_EQ(meeting.global_step, std::nullopt);
  ASSERT_THAT(meeting.peers, SizeIs(4));
  EXPECT_EQ(meeting.peers[1].task, "ps 0");
  EXPECT_FALSE(meeting.peers[1].connected);
  EXPECT_TRUE(meeting.peers[2].connected);

  Process& server = start(place(1));
  start(place(3));
  world_.run_for(5s);
  const TaskStatus met_all = ask();
  EXPECT_EQ(met_all.phase, "met");
  const Gathering gathering = met(server);
  for (size_t rank = 0; rank < 4; ++rank) {
    EXPECT_TRUE(met_all.peers[rank].connected) << rank;
    EXPECT_EQ(met_all.peers[rank].address, gathering.addresses[rank]);
  }
  kill(server);
  world_.run_for(1s);
  EXPECT_FALSE(ask().peers[1].connected);
  EXPECT_THAT(log(), testing::Not(HasSubstr("refused")));
}

TEST_P(AnyOrder, WhoIsStartedAgainIsGivenTheSame) {
  std::vector<Process*> all = start_all_and_meet();
  const Gathering first = met(*all[0]);
  RandomStream random(GetParam());
  for (int round = 0; round < 8; ++round) {
    std::vector<size_t> killed;
    for (size_t rank = 0; rank < all.size(); ++rank) {
      if (random.below(2) == 0 && killed.size() + 1 < all.size()) killed.push_back(rank);
    }
    for (const size_t rank : killed) kill(*all[rank]);
    world_.run_for(std::chrono::milliseconds(random.below(3000)));
    for (const size_t rank : killed) {
      all[rank] = &start(place(int32_t(rank)));
      world_.run_for(std::chrono::milliseconds(random.below(2) * random.below(3000)));
    }
    world_.run_for(10s);
    for (const size_t rank : killed) EXPECT_EQ(met(*all[rank]), first) << rank << ", round " << round << "\n" << log();
  }
}

TEST_F(RendezvousTest, WhoIsMissingIsNamed) {
  const std::vector<Process*> all{&start(place(0)), &start(place(1)), &start(place(3))};
  world_.run_for(kTimeout + 1s);
  expect_failed(*all[0], ErrorKind::kDeadlineExceeded,
                AllOf(HasSubstr("waiting for rank 2 (worker 0)"), HasSubstr("job:4000")));
  for (const Process* guest : {all[1], all[2]}) {
    expect_failed(*guest, ErrorKind::kDeadlineExceeded, AllOf(HasSubstr("waiting for"), HasSubstr("rank 2 (worker 0)")));
  }
  EXPECT_THAT(log(), AllOf(HasSubstr("rank 0: rendezvous at job:4000: waiting for rank 2 (worker 0)"),
                           HasSubstr("rank 1: waiting for the rendezvous, where rank 0 waits for rank 2 (worker 0)")));
}

/// All ranks begin at once with one time limit, shorter than the time between two notes of rank 0, so guests give up a
/// moment before or after the host. All of them name the rank that never came, and no other.
TEST_P(AnyOrder, OnlyWhoNeverCameIsNamed) {
  timeout_ = 6s;
  const std::vector<Process*> all{&start(place(0)), &start(place(1)), &start(place(3))};
  world_.run_for(20s);
  for (const Process* process : all) {
    expect_failed(*process, ErrorKind::kDeadlineExceeded,
                  AllOf(HasSubstr("waiting for rank 2 (worker 0) of 4 ranks: not there within 6 s")));
  }
}

/// Rank 0 comes late, when the others have given up.
TEST_F(RendezvousTest, WhoHadComeAndLeftIsToldFromWhoNeverCame) {
  timeout_ = 20s;
  const std::vector<Process*> early{&start(place(1)), &start(place(3))};
  world_.run_for(10s);
  const Process& first = start(place(0));
  world_.run_for(30s);
  for (const Process* process : early) {
    expect_failed(*process, ErrorKind::kDeadlineExceeded, HasSubstr("waiting for rank 2 (worker 0)"));
  }
  expect_failed(first, ErrorKind::kDeadlineExceeded,
                HasSubstr("waiting for rank 2 (worker 0) of 4 ranks: not there within 20 s (rank 1"));
}

TEST_F(RendezvousTest, WithoutRankZeroItIsNamed) {
  const Process& guest = start(place(2));
  world_.run_for(15s);
  EXPECT_THAT(log(), HasSubstr("waiting for rank 0 (chief 0) at the rendezvous job:4000"));
  world_.run_for(kTimeout);
  expect_failed(guest, ErrorKind::kDeadlineExceeded, HasSubstr("waiting for rank 0 (chief 0) at the rendezvous job:4000"));
}

TEST_F(RendezvousTest, WhoeverIsStartedAgainBeforeAllAreThereJustComesAgain) {
  std::vector<Process*> all{&start(place(0)), &start(place(1)), &start(place(3))};
  world_.run_for(5s);
  kill(*all[1]);
  all[1] = &start(place(1));
  world_.run_for(5s);
  kill(*all[0]);
  world_.run_for(5s);
  all[0] = &start(place(0));
  world_.run_for(5s);
  EXPECT_FALSE(all[0]->met || all[1]->met || all[2]->met);
  const Process& last = start(place(2));
  world_.run_for(3s);
  for (const Process* process : all) EXPECT_EQ(met(*process), met(last));
}

TEST_F(RendezvousTest, AJobThatIsStartedAsAWholeMeetsAnew) {
  std::vector<Process*> all = start_all_and_meet();
  const Gathering first = met(*all[0]);
  for (Process* process : all) kill(*process);
  world_.run_for(1s);
  all = start_all_and_meet();
  EXPECT_NE(met(*all[0]).id, first.id);
}

TEST_F(RendezvousTest, ASecondTaskOfARankIsRefusedWhileTheFirstLives) {
  const std::vector<Process*> all = start_all_and_meet();
  const Process& second = start(place(2), "second rank 2");
  world_.run_for(30s);
  expect_failed(
      second, ErrorKind::kFailedPrecondition,
      AllOf(HasSubstr("rank 2 (worker 0) is here already"), HasSubstr("host of 2"), HasSubstr("two tasks have one rank")));
  EXPECT_THAT(log(), HasSubstr("rank 0: rendezvous: refused rank 2 (worker 0)"));
  const Process& zero = start(place(0), "second rank 0");
  world_.run_for(5s);
  expect_failed(zero, ErrorKind::kUnavailable,
                AllOf(HasSubstr("job:4000"), HasSubstr("another job"), HasSubstr("SHOAL_RENDEZVOUS")));
  for (const Process* process : all) expect_met(*process);
}

TEST_F(RendezvousTest, ATaskWhoseFormerProcessFellSilentTakesItsPlace) {
  const std::vector<Process*> all = start_all_and_meet();
  network_->cut("rank 2", "rank 0");
  const Process& again = start(place(2), "rank 2 elsewhere");
  world_.run_for(10s);
  EXPECT_FALSE(again.met);
  world_.run_for(10s);
  EXPECT_EQ(met(again), met(*all[0]));
}

TEST_F(RendezvousTest, WhatDoesNotFitIsRefusedAndSaysWhatDiffers) {
  start(place(0));
  Place other_run = place(1), other_plan = place(2);
  other_run.run = "of yesterday";
  other_plan.plan = value_or_raise(plan_of(4, 2, true));
  const Process& run = start(other_run, "a");
  const Process& size = start(place(2, 5), "b");
  const Process& plan = start(other_plan, "c");
  const Process& fits = start(place(3));
  world_.run_for(5s);
  expect_failed(run, ErrorKind::kFailedPrecondition,
                AllOf(HasSubstr("the run \"of yesterday\""), HasSubstr("two jobs at one address")));
  expect_failed(size, ErrorKind::kFailedPrecondition, AllOf(HasSubstr("a job of 5 ranks"), HasSubstr("one of 4")));
  expect_failed(plan, ErrorKind::kFailedPrecondition,
                AllOf(HasSubstr("the plan ps:2,evaluator, and rank 0 has ps:1,worker:1,evaluator"), HasSubstr("SHOAL_PS")));
  EXPECT_FALSE(fits.met);  // This rank waits for the others.
  // The job is not disturbed.
  const Process& one = start(place(1));
  const Process& two = start(place(2));
  world_.run_for(5s);
  EXPECT_EQ(met(one), met(two));
  EXPECT_EQ(met(one), met(fits));
}

TEST_F(RendezvousTest, OfSeveralAddressesTheOneOfItsRunIsFound) {
  const auto named = [](int32_t rank, const std::string& run) {
    Place place = RendezvousTest::place(rank);
    place.rendezvous = {"job:4000", "job:4001", "job:4002"};
    place.run = run;
    return place;
  };
  std::vector<Process*> mine, theirs;
  for (int32_t rank = 3; rank >= 0; --rank) {
    theirs.push_back(&start(named(rank, "theirs"), "their rank " + std::to_string(rank)));
    mine.push_back(&start(named(rank, "mine"), "my rank " + std::to_string(rank)));
    world_.run_for(1s);
  }
  world_.run_for(5s);
  for (const Process* process : mine) EXPECT_EQ(met(*process), met(*mine[0])) << log();
  for (const Process* process : theirs) EXPECT_EQ(met(*process), met(*theirs[0]));
  EXPECT_NE(met(*mine[0]).id, met(*theirs[0]).id);
}

TEST_F(RendezvousTest, AnInterruptEndsTheWait) {
  const std::vector<Process*> all{&start(place(0)), &start(place(1)), &start(place(3))};
  world_.run_for(5s);
  for (const Process* process : all) world_.interrupt(*process->env);
  world_.run_for(1s);
  for (const Process* process : all) {
    ASSERT_TRUE(process->met && !*process->met) << process->name;
    EXPECT_EQ(process->met->error().kind(), ErrorKind::kCancelled);
  }
}

TEST_F(RendezvousTest, AnInterruptOfOneEndsItsWaitAlone) {
  Process& zero = start(place(0));
  Process& one = start(place(1));
  Process& three = start(place(3));
  world_.run_for(5s);
  world_.interrupt(*one.env);
  world_.run_for(1s);
  expect_failed(one, ErrorKind::kCancelled, testing::_);
  EXPECT_FALSE(zero.met || three.met);
}

TEST_F(RendezvousTest, AnInterruptWhileAConnectionIsMadeEndsTheWait) {
  Process& zero = start(place(0));
  network_->set_link("rank 0", "rank 1", {.latency = 1s});
  Process& one = start(place(1));
  world_.run_for(500ms);
  world_.interrupt(*one.env);
  world_.run_for(5s);
  expect_failed(one, ErrorKind::kCancelled, testing::_);
  EXPECT_FALSE(zero.met);
}

TEST_F(RendezvousTest, AnInterruptEndsTheWaitForRankZero) {
  const Process& lonely = start(place(2));
  world_.run_for(5s);
  world_.interrupt(*lonely.env);
  world_.run_for(1s);
  expect_failed(lonely, ErrorKind::kCancelled, testing::_);
}

TEST_F(RendezvousTest, StrangersDoNotDisturbIt) {
  const std::vector<Process*> all{&start(place(0)), &start(place(1)), &start(place(2))};
  Environment& env =
      world_.add_task({.task = "stranger", .transports = {{"sim", transport::sim_factory(network_, "stranger")}}});
  const auto program = world_.start(env, [&env] {
    transport::Transport& sim = *value_or_raise(env.transport("sim"));
    std::vector<std::unique_ptr<transport::Connection>> kept;
    for (const char* text :
         {"", "{", R"({"rank": 1})", R"({"rank": 9, "size": 4, "plan": "", "run": "", "own_host": "", "host_name": ""})"}) {
      for (const char* verb : {"join", "leave"}) {
        kept.push_back(value_or_raise(env.run(sim.connect({"sim", "job:4000"}, {}, env.after(5s)))));
        value_or_raise(env.run(kept.back()->send(transport::make_control(env.buffers(), verb, text), env.after(5s))));
        const auto answer = env.run(kept.back()->receive(env.after(5s)));
        ASSERT_TRUE(answer);
        EXPECT_EQ(answer->head.kind, transport::MessageKind::kError);
      }
    }
    // This peer sends nothing.
    kept.push_back(value_or_raise(env.run(sim.connect({"sim", "job:4000"}, {}, env.after(5s)))));
  });
  world_.run_for(20s);
  EXPECT_TRUE(program->done());
  const Process& last = start(place(3));
  world_.run_for(5s);
  for (const Process* process : all) EXPECT_EQ(met(*process), met(last));
}

}  // namespace
}  // namespace shoal::cluster
