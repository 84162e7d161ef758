// SPDX-License-Identifier: Apache-2.0
/// Who may ask, which pages there are, and when a task counts as alive.
#include "metrics_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/monitor/metrics_endpoint.h"

namespace shoal::monitor {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;

class MetricsAnswer : public ::testing::Test {
 protected:
  HttpAnswer ask(const RequestHead& head, const std::string& bearer = "") {
    return answer_to(head, {.page = cached_page, .health = health, .bearer = bearer}, now);
  }
  void pass(Duration time) {
    now += time;
    health.look(now);
  }

  MeterRegistry registry;
  TaskHealth health{registry, seconds(60)};
  CachedPage cached_page{registry, "1"};
  SteadyTime now{seconds(1000)};
};

TEST_F(MetricsAnswer, HasTwoPages) {
  EXPECT_EQ(ask({.method = "GET", .target = "/metrics"}).status, 200);
  EXPECT_EQ(ask({.method = "GET", .target = "/metrics"}).type, "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_EQ(ask({.method = "GET", .target = "/metrics?name[]=up"}).status, 200);
  EXPECT_EQ(ask({.method = "HEAD", .target = "/healthz"}).status, 200);
  for (const char* other : {"", "/", "/metrics/", "/METRICS", "/../metrics", "*", "http://x/metrics"}) {
    EXPECT_EQ(ask({.method = "GET", .target = other}).status, 404) << other;
  }
}

TEST_F(MetricsAnswer, RefusesOtherMethodsAndBodies) {
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "CONNECT", "get", ""}) {
    const HttpAnswer answer = ask({.method = method, .target = "/metrics"});
    EXPECT_EQ(answer.status, 405) << method;
    EXPECT_EQ(answer.allow, "GET, HEAD");
  }
  const HttpAnswer answer = ask({.method = "GET", .target = "/metrics", .has_body = true});
  EXPECT_EQ(answer.status, 413);
  EXPECT_TRUE(answer.closes);
}

TEST_F(MetricsAnswer, NeedsTheSecretForEveryPage) {
  const std::string secret = "shoal-metrics-abc";
  for (const char* page : {"/metrics", "/healthz", "/none"}) {
    EXPECT_EQ(ask({.method = "GET", .target = page}, secret).status, 401) << page;
  }
  const auto with = [&](std::vector<std::string_view> fields) {
    return ask({.method = "GET", .target = "/metrics", .authorization = std::move(fields)}, secret).status;
  };
  EXPECT_EQ(with({"Bearer shoal-metrics-abc"}), 200);
  EXPECT_EQ(with({"bearer shoal-metrics-abc"}), 200);
  EXPECT_EQ(with({"Basic shoal-metrics-abc"}), 401);
  EXPECT_EQ(with({"Bearer"}), 401);
  EXPECT_EQ(with({"Bearer "}), 401);
  EXPECT_EQ(with({"Bearer shoal-metrics-ab"}), 401);
  EXPECT_EQ(with({"Bearer shoal-metrics-abcd"}), 401);
  EXPECT_EQ(with({"Bearer shoal-metrics-abd"}), 401);
  EXPECT_EQ(with({"Bearer shoal-metrics-abcshoal-metrics-abc"}), 401);
  EXPECT_EQ(with({"Bearer shoal-metrics-abc", "Bearer shoal-metrics-abc"}), 401);
  const HttpAnswer refused = ask({.method = "POST", .target = "/metrics"}, secret);
  EXPECT_EQ(refused.body, "401 Unauthorized\n");
  EXPECT_EQ(refused.authenticate, "Bearer");
}

TEST(MetricsHost, IsAnAddressOrThisMachinesOwnName) {
  for (const char* own :
       {"127.0.0.1", "127.0.0.1:9400", "10.1.2.3:1", "[::1]", "[::1]:9400", "localhost", "LOCALHOST:9400"}) {
    EXPECT_TRUE(is_host_without_domain(own)) << own;
  }
  for (const char* other : {"", "x", "x:9400", "9400", "localhost.example", "localhost:", "localhost:x",
                            "127.0.0.1.example:9400", "::1", "127.0.0.1:9400:1", "localhost:70000"}) {
    EXPECT_FALSE(is_host_without_domain(other)) << other;
  }
}

TEST(IsSameSecret, ComparesAllOfIt) {
  EXPECT_TRUE(is_same_secret("", ""));
  EXPECT_TRUE(is_same_secret("abc", "abc"));
  EXPECT_FALSE(is_same_secret("abc", ""));
  EXPECT_FALSE(is_same_secret("", "abc"));
  EXPECT_FALSE(is_same_secret("abcabc", "abc"));
  EXPECT_FALSE(is_same_secret("abd", "abc"));
  EXPECT_FALSE(is_same_secret("bbc", "abc"));
}

TEST_F(MetricsAnswer, IsNoOlderThanAQuarterOfASecond) {
  const auto task = registry.add({});
  const auto step = [&](uint64_t number) { task->step({.global_step = number, .examples = 1, .loss = 1, .time = {}}); };
  const auto page_has = [&](const char* text) {
    return ask({.method = "GET", .target = "/metrics"}).body.find(text) != std::string::npos;
  };
  step(1);
  EXPECT_TRUE(page_has("index=\"0\"} 1\n"));
  step(22);
  now += std::chrono::milliseconds(249);
  EXPECT_FALSE(page_has("} 22\n"));
  now += std::chrono::milliseconds(1);
  EXPECT_TRUE(page_has("} 22\n"));
}

TEST_F(MetricsAnswer, SaysThatNoTaskHasBegun) {
  EXPECT_EQ(ask({.method = "GET", .target = "/healthz"}).body, "ok\nno task has begun yet\n");
}

TEST_F(MetricsAnswer, FindsAStrandThatHangs) {
  const auto task = registry.add({.role = "worker", .index = 1});
  std::vector<Work> left;  // At the strand.
  task->attach({.post = [&left](Work work) { left.push_back(std::move(work)); }, .wire = {}});
  task->set_phase(TaskPhase::kTraining);
  pass(seconds(1));
  ASSERT_EQ(left.size(), 1u);
  left.front()();
  pass(seconds(5));
  EXPECT_EQ(left.size(), 2u);  // The next question.
  pass(seconds(50));
  EXPECT_EQ(left.size(), 2u);  // Nothing piles up at a strand that hangs.
  EXPECT_EQ(ask({.method = "GET", .target = "/healthz"}).status, 200);
  pass(seconds(20));
  const HttpAnswer hangs = ask({.method = "GET", .target = "/healthz"});
  EXPECT_EQ(hangs.status, 503);
  EXPECT_THAT(hangs.body, HasSubstr("not ok\nworker 1: training; its strand has not answered for 70 s"));
  left.back()();
  pass(seconds(1));
  EXPECT_EQ(ask({.method = "GET", .target = "/healthz"}).status, 200);
}

/// A run without servers computes on its strand, which answers between steps.
TEST_F(MetricsAnswer, TakesProgressForAnAnswer) {
  const auto task = registry.add({});
  task->attach({.post = [](Work) {}, .wire = {}});
  task->set_phase(TaskPhase::kTraining);
  for (int step = 1; step <= 10; ++step) {
    pass(seconds(50));
    task->step({.global_step = uint64_t(step), .examples = 1, .loss = 1, .time = seconds(50)});
    pass(seconds(1));
    EXPECT_EQ(ask({.method = "GET", .target = "/healthz"}).status, 200) << step;
  }
  pass(seconds(61));
  EXPECT_EQ(ask({.method = "GET", .target = "/healthz"}).status, 503);
  task->set_phase(TaskPhase::kSaving);
  pass(seconds(1));
  pass(seconds(590));
  EXPECT_EQ(ask({.method = "GET", .target = "/healthz"}).status, 200);
  pass(seconds(20));
  EXPECT_EQ(ask({.method = "GET", .target = "/healthz"}).status, 503);
  task->detach();
  task->set_phase(TaskPhase::kEnded);
  pass(seconds(100));
  EXPECT_EQ(ask({.method = "GET", .target = "/healthz"}).body, "ok\nlocal: ended, global step 10\n");
}

TEST(MetricsAddress, IsAPortOrAnAddress) {
  const auto read = [](const char* text) {
    const auto address = parse_metrics_address(text);
    return address ? to_string(*address) : "no: " + address.error().message();
  };
  EXPECT_EQ(read("9400"), "127.0.0.1:9400");
  EXPECT_EQ(read("0"), "127.0.0.1:0");
  EXPECT_EQ(read("0.0.0.0:9400"), "0.0.0.0:9400");
  EXPECT_EQ(read("[::1]:65535"), "[::1]:65535");
  EXPECT_EQ(read("localhost:1"), "127.0.0.1:1");
  for (const char* wrong : {"", ":", ":9400", "65536", "-1", "9400 ", "host:9400", "::1:9400", "[::1:9400", "[]:1",
                            "[127.0.0.1]:1", "1.2.3:4", "127.0.0.1", "127.0.0.1:", "9400x", "tcp://127.0.0.1:1"}) {
    EXPECT_THAT(read(wrong), HasSubstr("write a port, as 9400")) << wrong;
  }
}

TEST(MetricsAddress, KnowsWhatIsBeyondThisMachine) {
  for (const char* own : {"9400", "127.255.0.1:1", "[::1]:1"})
    EXPECT_TRUE(is_loopback(parse_metrics_address(own).value())) << own;
  for (const char* other : {"0.0.0.0:1", "[::]:1", "128.0.0.1:1", "[::ffff:127.0.0.1]:1", "10.0.0.1:1"}) {
    EXPECT_FALSE(is_loopback(parse_metrics_address(other).value())) << other;
  }
}

}  // namespace
}  // namespace shoal::monitor
