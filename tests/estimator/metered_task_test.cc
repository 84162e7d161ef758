// SPDX-License-Identifier: Apache-2.0
// RunConfigOptions::metrics: what the endpoint shows of a task that trains, and where it may listen.
#include "task/metered_task.h"

#include "../monitor/raw_http.h"
#include "fixture.h"

namespace shoal::testing {
namespace {

using ::testing::HasSubstr;

/// Asks the endpoint that the log names after each step.
class Asks final : public Hook {
 public:
  explicit Asks(const Log& log) : log_(log) {}
  void after_step(RunContext&, const StepValues&) override {
    const std::vector<std::string> lines = log_.all('I');
    const auto named = std::ranges::find_if(
        lines, [](const std::string& line) { return line.find("http://127.0.0.1:") != std::string::npos; });
    if (named == lines.end()) return;
    port = uint16_t(std::stoi(named->substr(named->find("127.0.0.1:") + 10)));
    RawHttp http(port);
    http.send("GET /metrics HTTP/1.1\r\nConnection: close\r\n\r\n");
    last_page = http.read_all();
    RawHttp health(port);
    health.send("GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n");
    last_health = health.read_all();
  }
  uint16_t port = 0;
  std::string last_page, last_health;

 private:
  const Log& log_;
};

TEST(MeteredTask, AnswersWhileItTrainsAndNotAfterwards) {
  Place place;
  Estimator estimator = place.estimator(linear_model, {.save_checkpoints_steps = 2, .metrics = "0"});
  const auto asks = std::make_shared<Asks>(place.log);
  estimator.train(line({1, 2, 3, 4, 5, 6}).batch(2).repeat(), {.max_steps = 5, .hooks = {asks}});
  const std::string local = "{task=\"local\",role=\"local\",index=\"0\"";
  EXPECT_THAT(asks->last_page, HasSubstr("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(asks->last_page, HasSubstr("shoal_global_step" + local + "} "));
  EXPECT_THAT(asks->last_page, HasSubstr("backend=\"reference\"} 1\n"));
  EXPECT_THAT(asks->last_page, HasSubstr("shoal_checkpoint_duration_seconds_count" + local + "} "));
  EXPECT_THAT(asks->last_health, HasSubstr("ok\nlocal: training, global step 5\n"));
  EXPECT_FALSE(RawHttp(asks->port).connected());
}

TEST(MeteredTask, SaysBeforeTrainingThatItsPortIsTaken) {
  Place place;
  const int other = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  ASSERT_EQ(::bind(other, reinterpret_cast<const sockaddr*>(&at), size), 0);
  ASSERT_EQ(::listen(other, 1), 0);
  ASSERT_EQ(::getsockname(other, reinterpret_cast<sockaddr*>(&at), &size), 0);
  const std::string port = std::to_string(ntohs(at.sin_port));
  Estimator estimator = place.estimator(linear_model, {.metrics = port});
  const Result<void> trained = estimator.try_train(line({1, 2}).batch(2).repeat(), {.max_steps = 1});
  ::close(other);
  ASSERT_FALSE(trained);
  EXPECT_EQ(trained.error().kind(), ErrorKind::kUnavailable);
  EXPECT_THAT(trained.error().message(), HasSubstr("127.0.0.1:" + port));
  EXPECT_FALSE(std::filesystem::exists(place.model_dir()));
}

TEST(MeteredTask, ListensBeyondThisMachineWithACredentialOnly) {
  Place place;
  for (const char* beyond : {"0.0.0.0:0", "[::]:0"}) {
    Estimator estimator = place.estimator(linear_model, {.metrics = beyond});
    const Result<void> trained = estimator.try_train(line({1, 2}).batch(2).repeat(), {.max_steps = 1});
    ASSERT_FALSE(trained);
    EXPECT_EQ(trained.error().kind(), ErrorKind::kFailedPrecondition);
    EXPECT_THAT(trained.error().message(), HasSubstr("is beyond this machine"));
  }
}

TEST(MeteredTask, HasAnAddressThatIsOne) {
  const auto refused = [](std::string metrics) {
    try {
      RunConfig({.metrics = std::move(metrics)});
    } catch (const Exception& exception) {
      return std::string(exception.what());
    }
    return std::string();
  };
  EXPECT_THAT(refused("node1:9400"), HasSubstr("RunConfig: metrics: \"node1:9400\""));
  EXPECT_EQ(refused("9400"), "");
  EXPECT_EQ(RunConfig().replace({{"metrics", "[::1]:9400"}}).metrics(), "[::1]:9400");
  EXPECT_EQ(RunConfig({.metrics = "1"}).replace({{"metrics", "none"}}).metrics(), std::nullopt);
}

TEST(MeteredTask, HasTheNumberThatItsLauncherGivesIt) {
  std::vector<int32_t> numbers;
  for (const auto& task : cluster::in_process_tasks({.ps = 2, .workers = 3, .evaluator = true}, "t")) {
    numbers.push_back(number_in_job(task));
  }
  EXPECT_THAT(numbers, ::testing::ElementsAre(0, 1, 2, 3, 4, 5, 6));
  EXPECT_EQ(number_in_job(cluster::TaskConfig()), 0);
}

/// The evaluator behind them counts the workers, and no worker has its number.
TEST(MeteredTask, HasANumberOfItsOwnWhereIndicesHaveGaps) {
  const auto number = [](const std::string& type, int index) {
    const std::string config =
        R"({"cluster":{"chief":["h:1"],"ps":["h:2"],"worker":{"0":"h:3","7":"h:4"}},"task":{"type":")" + type +
        R"(","index":)" + std::to_string(index) + "}}";
    const auto variables = [&config](std::string_view name) {
      return name == "TF_CONFIG" ? std::optional(config) : std::nullopt;
    };
    return number_in_job(RunConfig::from_environment({}, variables, nullptr, nullptr).task());
  };
  EXPECT_EQ(number("worker", 0), 2);
  EXPECT_EQ(number("worker", 7), 3);
  EXPECT_EQ(number("evaluator", 0), 4);
}

/// Also in programs that are not on shoal::run.
TEST(MeteredTask, AddsItsNumberToAPortThatItsMachineShares) {
  const auto task = [](int32_t on_host, bool in_process, bool launched = false) {
    cluster::TaskConfig made = cluster::in_process_tasks({.ps = 1, .workers = 1}, "t").back();
    made.in_process = in_process;
    made.tasks_on_host = on_host;
    made.launched = launched;
    return made;
  };
  Place place;
  Logger log(place.log.sink(), "", read_wall_clock);
  const auto open = [&](const cluster::TaskConfig& made) {
    return open_own_metrics_endpoint(RunConfig({.metrics = "65535"}, made), TaskHost(), log);
  };
  for (const cluster::TaskConfig& one_of_many : {task(3, false), task(1, false, true)}) {
    const auto shared = open(one_of_many);
    ASSERT_FALSE(shared);
    EXPECT_EQ(shared.error().kind(), ErrorKind::kInvalidArgument);
    EXPECT_THAT(shared.error().message(), HasSubstr("this task listens 2 ports above, and there is no port 65537"));
  }
  for (const cluster::TaskConfig& alone : {task(1, false), task(3, true)}) {
    const auto own = open(alone);
    EXPECT_TRUE(own || own.error().kind() == ErrorKind::kUnavailable);  // Somebody else may listen there.
  }
}

}  // namespace
}  // namespace shoal::testing
