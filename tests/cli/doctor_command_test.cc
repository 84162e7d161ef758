// SPDX-License-Identifier: Apache-2.0
// The command `shoal doctor`: its findings about this machine, folders and peers.
#include <cstdlib>
#include <map>

#include "fixture.h"

namespace shoal::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Json;
using ::testing::Not;
using testing::Output;
using testing::shoal_program;

class Doctor : public testing::InFolder {
 protected:
  Doctor() { unsetenv("TF_CONFIG"); }
  ~Doctor() override { unsetenv("TF_CONFIG"); }

  /// The findings of a run by their names, as "clock".
  static std::map<std::string, Json> found(const Output& run) {
    std::map<std::string, Json> findings;
    const Json all = run.json();
    for (const Json& finding : all.at("findings")) findings[finding.at("about")] = finding;
    return findings;
  }
};

TEST_F(Doctor, LooksAtTheMachine) {
  const auto findings = found(shoal_program({"doctor", "--json"}));
  for (const char* about : {"build", "processor", "threads", "memory", "shared memory", "clock", "descriptors", "secret"}) {
    ASSERT_TRUE(findings.contains(about)) << about;
    EXPECT_THAT(findings.at(about).at("text").get<std::string>(), Not(IsEmpty())) << about;
  }
  EXPECT_FALSE(findings.contains("model_dir"));
  EXPECT_THAT(findings.at("build").at("text").get<std::string>(), AllOf(HasSubstr("reference"), HasSubstr("inproc")));
  EXPECT_TRUE(findings.at("clock").at("fine").get<bool>());
  EXPECT_TRUE(findings.at("clock").at("advice").is_null());
}

TEST_F(Doctor, ALineForEachThing) {
  const Output run = shoal_program({"doctor"});
  EXPECT_THAT(run.out, AllOf(HasSubstr("build          fine  shoal "), HasSubstr("\nclock          fine  20")));
}

TEST_F(Doctor, TriesTheFolderAndLeavesNothing) {
  for (const std::string& path : {folder, folder + "/not/there/yet"}) {
    const std::string before = everything();
    const Json finding = found(shoal_program({"doctor", "--model-dir", path, "--json"})).at("model_dir");
    EXPECT_THAT(finding.at("text").get<std::string>(), AllOf(HasSubstr(" free; 1 MiB is on the disk after "),
                                                             HasSubstr("; locks work"), HasSubstr("; hard links work")));
    EXPECT_EQ(everything(), before);
  }
}

TEST_F(Doctor, SaysWhatToDoOfAFolderThatCannotBe) {
  write("file", "no folder");
  const Output run = shoal_program({"doctor", "--model-dir", folder + "/file/m", "--json"});
  EXPECT_EQ(run.status, 1);
  EXPECT_FALSE(run.json().at("fine").get<bool>());
  const Json finding = found(run).at("model_dir");
  EXPECT_FALSE(finding.at("fine").get<bool>());
  EXPECT_THAT(finding.at("advice").get<std::string>(), HasSubstr("name another folder"));
}

TEST_F(Doctor, AsksPeers) {
  // No process listens at port 1 of the loopback, and "nobody.invalid" is no host by RFC 2606.
  const Output run = shoal_program(
      {"doctor", "--peer", "127.0.0.1:1", "--peer", "nobody.invalid:4000", "--peer", "nothing", "--timeout-secs", "1"});
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.out, AllOf(HasSubstr("peer 127.0.0.1:1 "), HasSubstr("-> start the task there"),
                             HasSubstr("peer nobody.invalid:4000 "), HasSubstr("an address is host:port")));
}

TEST_F(Doctor, LooksAtTheTaskOfTheEnvironment) {
  setenv("TF_CONFIG",
         R"({"cluster": {"chief": ["127.0.0.1:2"], "ps": ["127.0.0.1:1"]}, "task": {"type": "chief", "index": 0}})", 1);
  const Output run = shoal_program({"doctor"});
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.out, HasSubstr("peer 127.0.0.1:1 "));
  EXPECT_THAT(run.out, Not(HasSubstr("127.0.0.1:2")));
}

TEST_F(Doctor, SaysWhatIsWrongWithTheTaskOfTheEnvironment) {
  setenv("TF_CONFIG", "{", 1);
  const Output run = shoal_program({"doctor"});
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.out, HasSubstr("TF_CONFIG"));
}

TEST_F(Doctor, SaysWhatIsWrongWithTheSecret) {
  const Output run = shoal_program({"doctor", "--token-file", folder + "/none", "--json"});
  EXPECT_EQ(run.status, 1);
  EXPECT_FALSE(found(run).at("secret").at("fine").get<bool>());
}

}  // namespace
}  // namespace shoal::cli
