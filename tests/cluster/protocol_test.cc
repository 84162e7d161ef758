// SPDX-License-Identifier: Apache-2.0
#include "shoal/cluster/protocol.h"

#include <functional>
#include <random>

#include "plans.h"

namespace shoal::cluster {
namespace {

std::string all_bytes() {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes.push_back(char(i));
  return bytes;
}

TEST(Protocol, EpochsGoUpAndNeverComeTwice) {
  const uint64_t first = next_epoch(0, 0xabcdef0123456789), second = next_epoch(first, 0);
  EXPECT_EQ(first, 0x1'23456789u);
  EXPECT_GT(second, first);
  EXPECT_NE(next_epoch(0, 1), next_epoch(0, 2));  // Nobody remembers the epochs before.
  EXPECT_GT(next_epoch(0x1'ffffffffu, 0), 0x1'ffffffffu);
  EXPECT_NE(next_epoch(0, 0), 0u);  // The epoch 0 means none.
}

TEST(Protocol, WelcomeComesBack) {
  const Welcome back = value_or_raise(parse_welcome(to_json(Welcome{Phase::kReady, ~uint64_t(0), 1 << 30, all_bytes()})));
  EXPECT_EQ(back.phase, Phase::kReady);
  EXPECT_EQ(back.epoch, ~uint64_t(0));
  EXPECT_EQ(back.global_step, uint64_t(1) << 30);
  EXPECT_EQ(back.position, all_bytes());
}

TEST(Protocol, StatusComesBack) {
  ServerStatus status{.phase = Phase::kLoading,
                      .epoch = 3,
                      .global_step = 4,
                      .spec_hash = ~uint64_t(0),
                      .fingerprint = 6,
                      .changes = 12,
                      .counters = {7, 8},
                      .trainers = {}};
  status.trainers.push_back({.index = 0, .connected = true, .pushes = {.applied = 9}});
  status.trainers.push_back({.index = 2,
                             .done = true,
                             .ended = true,
                             .pushes = {.applied = 10,
                                        .dropped = 11,
                                        .staleness = ~uint64_t(0),
                                        .staleness_max = 13,
                                        .losses = 9,
                                        .loss = -0.1,
                                        .waited_secs = 1e-9}});
  const ServerStatus back = value_or_raise(parse_server_status(to_json(status)));
  EXPECT_EQ(back, status);
  ASSERT_EQ(back.trainers.size(), 2u);
  EXPECT_EQ(back.trainers[1].index, 2);
  EXPECT_TRUE(back.trainers[1].done);
  EXPECT_FALSE(back.trainers[1].connected);
  EXPECT_EQ(back.counters, (ShardCounters{7, 8}));
}

TEST(Protocol, StateAndRangesComeBack) {
  const StateText state{
      .epoch = 1, .global_step = 2, .counters = {3, 4}, .positions = {{0, ""}, {5, all_bytes()}}, .ended = {0, 5, 7}};
  const StateText back = value_or_raise(parse_state(to_json(state)));
  EXPECT_EQ(back.positions, state.positions);
  EXPECT_EQ(back.ended, state.ended);
  EXPECT_EQ(back.counters, state.counters);
  const ReadRange range = value_or_raise(parse_read_range(to_json(ReadRange{2, 64, 128})));
  EXPECT_EQ(range.arena, 2);
  EXPECT_EQ(range.offset, 64u);
  EXPECT_EQ(range.bytes, 128u);
}

TEST(Protocol, RestComesBack) {
  for (const Rest& rest :
       {Rest{.newest_push = ~uint64_t(0), .input_ended = true, .waits = true}, Rest{.stopped_by_job = true}}) {
    EXPECT_EQ(value_or_raise(parse_rest(to_json(rest))), rest);
  }
  const RestNews news =
      value_or_raise(parse_rest_news(to_json(RestNews{.chief_connected = true, .at_work = "worker 1 (away)"})));
  EXPECT_TRUE(news.chief_connected);
  EXPECT_EQ(news.at_work, "worker 1 (away)");
}

TEST(Protocol, PrepareComesBack) {
  const ShardSpec spec = plan_of({variable("a", {3, 4}, adam(), uniform(-1, 1))}, 1).shards[0];
  Prepare prepare{.epoch = 5, .fingerprint = 6, .spec = spec, .meaning = "a: b\n"};
  const Prepare back = value_or_raise(parse_prepare(to_json(prepare)));
  EXPECT_EQ(back.epoch, 5u);
  EXPECT_EQ(back.fingerprint, 6u);
  EXPECT_EQ(back.meaning, prepare.meaning);
  prepare.meaning = std::string(5000, 'a');
  EXPECT_FALSE(parse_prepare(to_json(prepare)));
  EXPECT_EQ(back.spec, spec);
  EXPECT_FALSE(back.allow_non_finite);
  const Prepare allowing{.epoch = 5, .fingerprint = 6, .spec = spec, .allow_non_finite = true};
  EXPECT_TRUE(value_or_raise(parse_prepare(to_json(allowing))).allow_non_finite);
  EXPECT_EQ(spec_hash(back.spec), spec_hash(spec));
}

TEST(Protocol, ArenaNames) {
  for (ArenaIndex arena = 0; arena <= 8; ++arena) EXPECT_EQ(value_or_raise(parse_arena_name(arena_name(arena))), arena);
  EXPECT_EQ(arena_name(0), "weights");
  EXPECT_EQ(arena_name(2), "slot/1");
  for (const int trainer : {0, 1, 65536}) {
    const ArenaIndex arena = residual_arena(trainer);
    EXPECT_EQ(arena_name(arena), "residual/" + std::to_string(trainer));
    EXPECT_EQ(value_or_raise(parse_arena_name(arena_name(arena))), arena);
    EXPECT_EQ(residual_trainer(arena), trainer);
  }
  EXPECT_EQ(residual_trainer(8), -1);
}

TEST(Protocol, ListsOfTrainers) {
  for (const std::vector<int>& trainers : {std::vector<int>{}, {0}, {0, 3, 65536}})
    EXPECT_EQ(value_or_raise(parse_trainers(to_json(trainers))), trainers);
  for (const char* text : {"", "{}", "3", "[1.5]", "[-1]", "[2,1]", "[65537]", "[\"1\"]", "[4294967296]"})
    EXPECT_FALSE(parse_trainers(text)) << text;
}

template <class T>
using Parse = Result<T> (*)(std::string_view);

template <class T>
void expect_refused(Parse<T> parse, const std::string& text) {
  const auto parsed = parse(text);
  ASSERT_FALSE(parsed) << text;
  EXPECT_TRUE(parsed.error().kind() == ErrorKind::kDataLoss || parsed.error().kind() == ErrorKind::kInvalidArgument)
      << text;
}

TEST(Protocol, RefusesNumbersThatDoNotFit) {
  for (const char* epoch : {"-1", "1.5", "1e300", "18446744073709551616", "\"3\"", "null", "[]", "true"}) {
    expect_refused<Welcome>(parse_welcome,
                            std::string(R"({"phase":2,"epoch":)") + epoch + R"(,"global_step":0,"position":[]})");
    expect_refused<ReadRange>(parse_read_range, std::string(R"({"arena":0,"bytes":4,"offset":)") + epoch + "}");
    expect_refused<StateText>(parse_state,
                              std::string(R"({"counters":[1,2],"positions":[],"global_step":1,"epoch":)") + epoch + "}");
  }
  for (const char* phase : {"-1", "4", "256", "1e9"}) {
    expect_refused<Welcome>(parse_welcome,
                            std::string(R"({"epoch":1,"global_step":0,"position":[],"phase":)") + phase + "}");
  }
  for (const char* position : {"[256]", "[-1]", "[1.5]", "[[1]]", "\"ab\"", "{}", "7"}) {
    expect_refused<Welcome>(parse_welcome,
                            std::string(R"({"phase":2,"epoch":1,"global_step":0,"position":)") + position + "}");
  }
  expect_refused<ReadRange>(parse_read_range, R"({"arena":4294967296,"offset":0,"bytes":4})");
  expect_refused<StateText>(parse_state, R"({"epoch":1,"global_step":1,"counters":[1],"positions":[],"ended":[]})");
  expect_refused<StateText>(parse_state,
                            R"({"epoch":1,"global_step":1,"counters":[1,2],"positions":[[9999999999,[]]],"ended":[]})");
  for (const char* ended : {"[-1]", "[65537]", "[1.5]", "[\"1\"]", "{}", "1"}) {
    expect_refused<StateText>(
        parse_state, std::string(R"({"epoch":1,"global_step":1,"counters":[1,2],"positions":[],"ended":)") + ended + "}");
  }
}

TEST(Protocol, SaysHowAJobEnded) {
  const JobEnd clean{.failed = false, .reason = "max_steps"}, failed{.failed = true, .reason = "the loss is NaN"};
  for (const JobEnd& end : {clean, failed, JobEnd{}}) EXPECT_EQ(value_or_raise(parse_job_end(to_json(end))), end);
  EXPECT_EQ(sentence(clean), "training finished (max_steps)");
  EXPECT_EQ(sentence(failed), "the job failed: the chief gave up: the loss is NaN");
  Welcome welcome{.phase = Phase::kFinished, .position = {}, .end = failed};
  EXPECT_EQ(value_or_raise(parse_welcome(to_json(welcome))).end, failed);
  EXPECT_LT(to_json(JobEnd{.failed = true, .reason = std::string(100'000, 'x')}).size(), 10'000u);
  for (const char* text :
       {"", "{}", R"({"failed":1,"reason":""})", R"({"failed":true})", R"({"failed":true,"reason":null})"}) {
    expect_refused<JobEnd>(parse_job_end, text);
  }
}

TEST(Protocol, AFailureComesBackAlsoWithinAStatus) {
  for (const JobFailure& failure :
       {JobFailure{ErrorKind::kNanLoss, "the loss is NaN", 2}, JobFailure{ErrorKind::kDataLoss, "", -1}}) {
    EXPECT_EQ(value_or_raise(parse_job_failure(to_json(failure))), failure);
    const ServerStatus status{.phase = Phase::kReady, .counters = {}, .trainers = {}, .failure = failure};
    EXPECT_EQ(value_or_raise(parse_server_status(to_json(status))), status);
  }
  EXPECT_LT(to_json(JobFailure{ErrorKind::kNanLoss, std::string(100'000, 'x'), 0}).size(), 10'000u);
  for (const char* text : {"", "{}", R"({"kind":10,"sentence":""})", R"({"kind":6,"sentence":"","trainer":0})",
                           R"({"kind":200,"sentence":"","trainer":0})", R"({"kind":0,"sentence":"","trainer":0})",
                           R"({"kind":10,"sentence":1,"trainer":0})", R"({"kind":10,"sentence":"","trainer":-2})"}) {
    expect_refused<JobFailure>(parse_job_failure, text);
  }
}

TEST(Protocol, RefusesAPositionBeyondItsLimit) {
  const auto text = [](size_t bytes) { return to_json(Welcome{Phase::kReady, 1, 1, std::string(bytes, 'p')}); };
  EXPECT_TRUE(parse_welcome(text(size_t(64) << 10)));
  expect_refused<Welcome>(parse_welcome, text((size_t(64) << 10) + 1));
}

TEST(Protocol, RefusesGarbage) {
  const std::string deep = std::string(100'000, '[');
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("[]"), std::string("{}"), std::string("null"), std::string("\0\0", 2),
        std::string("\xff\xfe"), deep, deep + std::string(100'000, ']')}) {
    expect_refused<Welcome>(parse_welcome, text);
    expect_refused<ServerStatus>(parse_server_status, text);
    expect_refused<Prepare>(parse_prepare, text);
    expect_refused<StateText>(parse_state, text);
    expect_refused<ReadRange>(parse_read_range, text);
    expect_refused<Rest>(parse_rest, text);
    expect_refused<RestNews>(parse_rest_news, text);
  }
}

TEST(Protocol, SurvivesRandomDamage) {
  const ShardSpec spec = plan_of({variable("a", {3, 4}, adam(), uniform(-1, 1))}, 1).shards[0];
  const std::string good[] = {
      to_json(Welcome{Phase::kReady, 1, 2, "position"}),
      to_json(
          ServerStatus{.phase = Phase::kReady, .epoch = 1, .counters = {}, .trainers = {{.index = 0, .connected = true}}}),
      to_json(Prepare{5, 6, spec}),
      to_json(StateText{.epoch = 1, .global_step = 2, .counters = {3, 4}, .positions = {{5, "xy"}}}),
      to_json(ReadRange{2, 64, 128})};
  size_t refused = 0;
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    std::mt19937 random(seed);
    for (std::string text : good) {
      for (int i = 0; i < 3; ++i) text[random() % text.size()] = char(random());
      refused += !parse_welcome(text) + !parse_server_status(text) + !parse_prepare(text) + !parse_state(text) +
                 !parse_read_range(text);
    }
  }
  EXPECT_GT(refused, 40'000u);  // There are 50,000 tries, of which 10,000 are of the right form.
}

}  // namespace
}  // namespace shoal::cluster
