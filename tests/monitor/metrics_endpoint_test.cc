// SPDX-License-Identifier: Apache-2.0
/// The endpoint over real sockets: requests as monitoring systems send them, and as nobody should.
#include "shoal/monitor/metrics_endpoint.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <list>
#include <thread>

#include "raw_http.h"

namespace shoal::monitor {
namespace {

using shoal::testing::RawHttp;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class Endpoint : public ::testing::Test {
 protected:
  const std::shared_ptr<MetricsEndpoint> endpoint =
      start_metrics_endpoint({.address = {.host = "127.0.0.1", .port = 0}, .gate = {}, .version = "1"}).value();
  const uint16_t port = endpoint->address().port;

  std::string answer_to(const std::string& request) {
    RawHttp http(port);
    http.send(request);
    return http.read_answer();
  }
};

TEST_F(Endpoint, AnswersPrometheus) {
  endpoint->registry().add({.role = "chief", .index = 0})->step({.global_step = 3, .examples = 1, .loss = 1, .time = {}});
  const std::string answer =
      answer_to("GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept: text/plain;version=0.0.4\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
  EXPECT_THAT(answer, HasSubstr("shoal_global_step{task=\"chief 0\",role=\"chief\",index=\"0\"} 3\n"));
  EXPECT_THAT(answer, HasSubstr("process_resident_memory_bytes "));
}

TEST_F(Endpoint, AnswersManyRequestsOfOneConnection) {
  RawHttp http(port);
  for (int i = 0; i < 20; ++i) {
    http.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_THAT(http.read_answer(), StartsWith("HTTP/1.1 200 OK\r\n")) << i;
  }
  http.send("HEAD /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  const std::string head = http.read_all();
  EXPECT_THAT(head, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(head, ::testing::EndsWith("\r\n\r\n"));
}

TEST_F(Endpoint, AnswersRequestsThatAreSentAheadInTheirOrder) {
  RawHttp http(port);
  http.send("GET /healthz HTTP/1.1\r\n\r\nGET /none HTTP/1.1\r\n\r\nGET /metrics HTTP/1.1\r\nConnection: close\r\n\r\n");
  const std::string all = http.read_all();
  const size_t first = all.find("200 OK"), second = all.find("404 Not Found"), third = all.find("shoal_build_info");
  ASSERT_NE(third, std::string::npos) << all;
  EXPECT_LT(first, second);
  EXPECT_LT(second, third);
}

TEST_F(Endpoint, AnswersARequestThatComesInPieces) {
  RawHttp http(port);
  for (const char c : std::string_view("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")) http.send(std::string(1, c));
  EXPECT_THAT(http.read_answer(), StartsWith("HTTP/1.1 200 OK\r\n"));
}

TEST_F(Endpoint, RefusesWhatIsNoRequest) {
  for (const char* nonsense : {"hello\r\n\r\n", "GET\r\n\r\n", "GET /metrics\r\n\r\n", "GET /metrics HTTP/9.9\r\n\r\n",
                               "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03", "GET /metrics HTTP/1.1\r\nno colon\r\n\r\n",
                               "GET /metrics HTTP/1.1\r\nContent-Length: x\r\n\r\n",
                               "GET /metrics HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n"}) {
    RawHttp http(port);
    http.send(nonsense);
    const std::string answer = http.read_all();
    EXPECT_THAT(answer, ::testing::AnyOf(StartsWith("HTTP/1.1 400 Bad Request\r\n"), StartsWith("HTTP/1.1 413 ")))
        << nonsense;
  }
  EXPECT_THAT(answer_to("POST /metrics HTTP/1.1\r\n\r\n"), HasSubstr("Allow: GET, HEAD\r\n"));
}

/// A body would be taken for the next request.
TEST_F(Endpoint, EndsAConnectionThatBringsABody) {
  RawHttp http(port);
  http.send("POST /metrics HTTP/1.1\r\nContent-Length: 40\r\n\r\nGET /metrics HTTP/1.1\r\nHost: hidden\r\n\r\n");
  const std::string all = http.read_all();
  EXPECT_THAT(all, StartsWith("HTTP/1.1 413 "));
  EXPECT_EQ(all.find("shoal_build_info"), std::string::npos);
}

/// A page of the web whose name leads to this machine reads nothing through a browser.
TEST_F(Endpoint, RefusesHostsOfADomain) {
  const auto with_host = [this](const std::string& host) {
    return answer_to("GET /metrics HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
  };
  for (const char* own : {"127.0.0.1", "127.0.0.1:9400", "[::1]:9400", "localhost", "LocalHost:1"}) {
    EXPECT_THAT(with_host(own), StartsWith("HTTP/1.1 200 OK\r\n")) << own;
  }
  const std::string refused = with_host("rebound.example:9400");
  EXPECT_THAT(refused, StartsWith("HTTP/1.1 421 "));
  EXPECT_EQ(refused.find("shoal_build_info"), std::string::npos);
  EXPECT_THAT(with_host("localhost\r\nHost: rebound.example"), StartsWith("HTTP/1.1 421 "));
}

TEST_F(Endpoint, BoundsTheHead) {
  RawHttp http(port);
  http.send("GET /metrics HTTP/1.1\r\nX: " + std::string(20'000, 'x') + "\r\n\r\n");
  EXPECT_THAT(http.read_all(), StartsWith("HTTP/1.1 431 "));
  RawHttp endless(port);
  for (int i = 0; i < 1000; ++i) endless.send("X" + std::to_string(i) + ": y\r\n");
  EXPECT_THAT(endless.read_all(), ::testing::Not(HasSubstr("200 OK")));
}

/// The connection that was idle for longest goes, and each newer one is answered.
TEST_F(Endpoint, BoundsItsConnections) {
  std::list<RawHttp> many;
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(many.emplace_back(port).connected());
    many.back().send("GET /healthz HTTP/1.1\r\n\r\n");
    ASSERT_THAT(many.back().read_answer(), StartsWith("HTTP/1.1 200 OK\r\n")) << i;
  }
  EXPECT_TRUE(many.front().is_ended());
  size_t open = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) open += entry.is_symlink() ? 1 : 0;
  EXPECT_LT(open, 200u + 128 + 30);  // Both ends are of this process.
  many.back().send("GET /healthz HTTP/1.1\r\n\r\n");
  EXPECT_THAT(many.back().read_answer(), StartsWith("HTTP/1.1 200 OK\r\n"));
}

/// Programs that this process starts inherit none of the descriptors.
TEST_F(Endpoint, OpensDescriptorsThatNoOtherProgramGets) {
  RawHttp http(port);
  http.send("GET /healthz HTTP/1.1\r\n\r\n");
  http.read_answer();
  int sockets = 0;
  for (int descriptor = 3; descriptor < 1024; ++descriptor) {
    const int flags = ::fcntl(descriptor, F_GETFD);
    if (flags < 0) continue;
    std::error_code ignored;
    const auto target = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(descriptor), ignored).string();
    if (target.find("socket:") == std::string::npos && target.find("anon_inode") == std::string::npos) continue;
    ++sockets;
    EXPECT_TRUE(flags & FD_CLOEXEC) << target;
  }
  EXPECT_GE(sockets, 3);
}

TEST_F(Endpoint, SaysThatItsPortIsTaken) {
  const auto second = start_metrics_endpoint({.address = endpoint->address(), .gate = {}, .version = "1"});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind(), ErrorKind::kUnavailable);
  EXPECT_THAT(second.error().message(), HasSubstr("127.0.0.1:" + std::to_string(port)));
  EXPECT_THAT(second.error().message(), HasSubstr("give another one, or 0"));
}

TEST_F(Endpoint, HasTheErrorOfItsGate) {
  const auto other =
      start_metrics_endpoint({.address = {.host = "192.0.2.1", .port = 0},
                              .gate = [] { return Result<MetricsGate>(unavailable("not asked for another reason")); },
                              .version = "1"});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().message(), "not asked for another reason");
}

TEST(EndpointEnds, WithConnectionsOpen) {
  auto endpoint = start_metrics_endpoint({.address = {.host = "127.0.0.1", .port = 0}, .gate = {}, .version = "1"}).value();
  const uint16_t port = endpoint->address().port;
  RawHttp idle(port), half(port);
  half.send("GET /met");
  idle.send("GET /healthz HTTP/1.1\r\n\r\n");
  idle.read_answer();
  endpoint.reset();
  EXPECT_TRUE(idle.is_ended());
  EXPECT_TRUE(half.is_ended());
  EXPECT_FALSE(RawHttp(port).connected());
}

/// Tasks come, count and go while others ask: for ThreadSanitizer.
TEST_F(Endpoint, IsReadWhileTasksCount) {
  std::atomic<bool> done = false;
  std::jthread asks([&] {
    RawHttp http(port);
    while (!done) {
      http.send("GET /metrics HTTP/1.1\r\n\r\nGET /healthz HTTP/1.1\r\n\r\n");
      http.read_answer();
      http.read_answer();
    }
  });
  std::vector<std::jthread> tasks;
  for (int32_t i = 0; i < 3; ++i) {
    tasks.emplace_back([this, i] {
      for (int run = 0; run < 20; ++run) {
        const auto task = endpoint->registry().add({.role = "worker", .index = i});
        task->attach({.post = [](Work work) { work(); }, .wire = [] { return TaskAccess::WireBytes{1, 2}; }});
        for (uint64_t step = 0; step < 200; ++step) {
          task->step({.global_step = step, .examples = 1, .loss = 1, .time = std::chrono::milliseconds(step)});
          task->evaluated({{"loss", double(step)}, {"global_step", double(step)}});
        }
        task->detach();
        task->set_phase(TaskPhase::kEnded);
      }
    });
  }
  tasks.clear();
  done = true;
  asks.join();
  RawHttp http(port);
  std::string answer;
  // The page is made anew four times a second.
  for (const auto late = std::chrono::steady_clock::now() + std::chrono::seconds(20);
       std::chrono::steady_clock::now() < late;) {
    http.send("GET /metrics HTTP/1.1\r\n\r\n");
    answer = http.read_answer();
    if (answer.find("index=\"2\"} 4000\n") != std::string::npos) break;
  }
  EXPECT_THAT(answer, HasSubstr("shoal_steps_total{task=\"worker 2\",role=\"worker\",index=\"2\"} 4000\n"));
}

}  // namespace
}  // namespace shoal::monitor
