// SPDX-License-Identifier: Apache-2.0
// `shoal status` where no task can be asked, or none answers. tests/cluster/processes/status_test.py asks real tasks.
#include <cstdlib>

#include "fixture.h"

namespace shoal::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Output;
using testing::shoal_program;

/// Port 1 of the loopback, where no process listens.
constexpr const char* kNobody = "127.0.0.1:1";

class StatusCommand : public ::testing::Test {
 protected:
  void SetUp() override { TearDown(); }
  void TearDown() override {
    for (const char* name :
         {"TF_CONFIG", "SHOAL_RANK", "SHOAL_WORLD_SIZE", "SHOAL_RENDEZVOUS", "SHOAL_PS", "SHOAL_EVALUATOR", "SHOAL_TOKEN",
          "SHOAL_TOKEN_FILE", "SHOAL_TLS_DIR", "SHOAL_INSECURE", "SHOAL_SOURCE"}) {
      unsetenv(name);
    }
  }
  static void set(const char* name, const std::string& value) { setenv(name, value.c_str(), 1); }
  /// Makes the environment that of a chief, a server or a worker, whose rendezvous does not answer.
  static void be_rank(const std::string& rank) {
    set("SHOAL_RANK", rank);
    set("SHOAL_WORLD_SIZE", "3");
    set("SHOAL_RENDEZVOUS", kNobody);
  }
  static void expect_fails(const Output& run, int status, const std::string& sentence) {
    EXPECT_EQ(run.status, status) << run.err;
    EXPECT_EQ(run.out, "");
    EXPECT_THAT(run.err, HasSubstr(sentence));
  }
};

TEST_F(StatusCommand, SaysWhatIsWrongWithTheQuestion) {
  expect_fails(shoal_program({"status"}), 2, "which task? Give the address");
  expect_fails(shoal_program({"status", "nowhere"}), 2, "there is no port");
  expect_fails(shoal_program({"status", kNobody, "--live", "--ready"}), 2, "--live");
  expect_fails(shoal_program({"status", kNobody, "--timeout-secs", "0"}), 2, "--timeout-secs");
  expect_fails(shoal_program({"status", kNobody, "--token-file", "/no/such/file"}), 2, "/no/such/file");
  set("SHOAL_TOKEN", "rubbish");
  expect_fails(shoal_program({"status", kNobody}), 2, "SHOAL_TOKEN");
}

TEST_F(StatusCommand, FailsWhereNobodyIs) {
  for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--live"}, {"--ready"}}) {
    std::vector<std::string> words{"status", kNobody};
    words.insert(words.end(), more.begin(), more.end());
    expect_fails(shoal_program(words), 1, kNobody);
  }
}

/// Rank 0 is asked about itself. For other ranks it only reports, so while it is away nothing speaks against them.
TEST_F(StatusCommand, ARankThatNobodyTellsOfIsAliveAndNotReady) {
  be_rank("2");
  const Output live = shoal_program({"status", "--live"});
  EXPECT_EQ(live.status, 0) << live.err;
  EXPECT_EQ(live.out, "");
  EXPECT_THAT(live.err, AllOf(HasSubstr(kNobody), HasSubstr("nothing is known against worker 0")));
  expect_fails(shoal_program({"status", "--ready"}), 1, kNobody);
  expect_fails(shoal_program({"status"}), 1, kNobody);
  be_rank("0");
  expect_fails(shoal_program({"status", "--live"}), 1, kNobody);
}

TEST_F(StatusCommand, AsksAServerOfTfConfigAboutItsTrainers) {
  const std::string cluster = R"({"cluster":{"chief":["a:1"],"ps":["127.0.0.1:1"]},"task":{"index":0,"type":")";
  set("TF_CONFIG", cluster + "chief\"}}");
  EXPECT_EQ(shoal_program({"status", "--live"}).status, 0);
  expect_fails(shoal_program({"status", "--ready"}), 1, kNobody);
  set("TF_CONFIG", cluster + "ps\"}}");
  expect_fails(shoal_program({"status", "--live"}), 1, kNobody);
  set("TF_CONFIG", cluster + "evaluator\"}}");
  expect_fails(shoal_program({"status", "--live"}), 2, "no task can be asked about it");
}

TEST_F(StatusCommand, HelpIsForNewcomers) {
  const Output help = shoal_program({"status", "--help"});
  EXPECT_EQ(help.status, 0);
  for (const char* text :
       {"shoal status 127.0.0.1:23456", "--live", "--ready", "--timeout-secs", "does not disturb the job"}) {
    EXPECT_THAT(help.out, HasSubstr(text));
  }
}

}  // namespace
}  // namespace shoal::cli
