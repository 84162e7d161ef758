// SPDX-License-Identifier: Apache-2.0
// The token by which the tasks of a launched job know each other.
#include <sys/stat.h>

#include <map>

#include "fixture.h"
#include "launch/credentials.h"
#include "launch/program_command.h"
#include "shoal/transport/token.h"

namespace shoal::cli::launch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Words = std::vector<std::string>;

cluster::GetEnv environment(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](std::string_view name) -> std::optional<std::string> {
    const auto at = variables.find(std::string(name));
    return at == variables.end() ? std::nullopt : std::optional(at->second);
  };
}

TEST(LaunchToken, IsMadeUnlessTheUserHasSeenToIt) {
  const auto made = [](const std::vector<std::string>& command, const std::map<std::string, std::string>& variables) {
    return token_for_job(command, environment(variables));
  };
  EXPECT_EQ(made({"./train"}, {}).has_value(), SHOAL_TEST_TLS != 0);
  EXPECT_EQ(made({"./train", "--token", "x"}, {{"SHOAL_TOKEN", ""}}).has_value(), SHOAL_TEST_TLS != 0);
  if (SHOAL_TEST_TLS != 0) {
    EXPECT_NE(made({"./train"}, {}), made({"./train"}, {}));
  }
  for (const char* name : {"SHOAL_TOKEN", "SHOAL_TOKEN_FILE", "SHOAL_TLS_DIR", "SHOAL_INSECURE"}) {
    EXPECT_EQ(made({"./train"}, {{name, "1"}}), std::nullopt) << name;
  }
  for (const char* flag : {"--token-file", "--token-file=t", "--tls-dir", "--insecure", "--insecure=true"}) {
    EXPECT_EQ(made({"./train", flag}, {}), std::nullopt) << flag;
  }
  for (const char* no : {"0", "false", "OFF", "no"}) {
    EXPECT_EQ(made({"./train"}, {{"SHOAL_INSECURE", no}}).has_value(), SHOAL_TEST_TLS != 0) << no;
    EXPECT_EQ(made({"./train", std::string("--insecure=") + no}, {}).has_value(), SHOAL_TEST_TLS != 0) << no;
  }
}

TEST(CommandWithout, LeavesOutAFlagInEverySpellingAndAVariable) {
  for (const Words& spelling : std::vector<Words>{{"--token-file", "t"},
                                                  {"--token-file=t"},
                                                  {"--param", "token-file=t"},
                                                  {"--param=token_file=t"},
                                                  {"--token-file", "t", "--token-file=u"}}) {
    Words words{"env", "SHOAL_TOKEN_FILE=t", "A=b", "./train", "--steps", "9"};
    words.insert(words.end(), spelling.begin(), spelling.end());
    words.insert(words.end(), {"--quiet", "--", "--token-file", "x"});
    EXPECT_THAT(command_without(words, "--token-file", "SHOAL_TOKEN_FILE"),
                ElementsAre("env", "A=b", "./train", "--steps", "9", "--quiet", "--", "--token-file", "x"))
        << spelling.front();
  }
  EXPECT_THAT(command_without(Words{"./train", "SHOAL_TOKEN_FILE=t"}, "--token-file", "SHOAL_TOKEN_FILE"),
              ElementsAre("./train", "SHOAL_TOKEN_FILE=t"));  // An argument of the program.
}

class TokenOfUser : public ::testing::Test {
 protected:
  TokenOfUser() {
    if (SHOAL_TEST_TLS == 0) return;
    folder_.write("token", text_ + "\n");
    ::chmod(path_.c_str(), 0600);
  }
  void SetUp() override {
    if (SHOAL_TEST_TLS == 0) GTEST_SKIP() << "this build has no tokens";
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_ / "token";
  const std::string text_ = SHOAL_TEST_TLS == 0 ? "" : transport::Token::fresh().to_text();
};

// The file may change or vanish while the job runs, and a task that is started again needs the token of the others.
TEST_F(TokenOfUser, IsReadOnce) {
  const auto expect_read = [&](const Words& command, std::map<std::string, std::string> variables, const Words& without) {
    const auto read = read_token_of_user(command, environment(std::move(variables)));
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(read->command, without);
    EXPECT_THAT(read->variables, ElementsAre(Variable("SHOAL_TOKEN", text_), Variable("SHOAL_TOKEN_FILE", "")));
  };
  expect_read({"./train", "--token-file", path_}, {}, {"./train"});
  expect_read({"./train", "--token-file=" + path_}, {{"SHOAL_TOKEN_FILE", "another"}}, {"./train"});
  expect_read({"./train"}, {{"SHOAL_TOKEN_FILE", path_}}, {"./train"});
  expect_read({"env", "SHOAL_TOKEN_FILE=" + path_, "./train"}, {}, {"env", "./train"});
  expect_read({"./train"}, {{"SHOAL_TOKEN_FILE", path_}, {"SHOAL_TOKEN", text_}}, {"./train"});
}

TEST_F(TokenOfUser, StaysWhereItIsIfTheLauncherCannotKnowIt) {
  const auto expect_unchanged = [](const Words& command, std::map<std::string, std::string> variables) {
    const auto read = read_token_of_user(command, environment(std::move(variables)));
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(read->command, command);
    EXPECT_THAT(read->variables, IsEmpty());
  };
  expect_unchanged({"./train"}, {});
  expect_unchanged({"./train"}, {{"SHOAL_TOKEN_FILE", ""}, {"SHOAL_TOKEN", text_}});
  expect_unchanged({"./train", "--token-file", folder_ / "none"}, {});  // The program may change its folder first.
  expect_unchanged({"env", "-i", "SHOAL_TOKEN_FILE=" + path_, "./train"}, {});
}

TEST_F(TokenOfUser, IsRefusedBeforeAnythingStarts) {
  folder_.write("token", "no token");
  const auto malformed = read_token_of_user({"./train", "--token-file", path_}, environment({}));
  ASSERT_FALSE(malformed);
  EXPECT_THAT(malformed.error().message(), HasSubstr("token file " + path_));
  folder_.write("token", text_);
  const std::string other = transport::Token::fresh().to_text();
  const auto two = read_token_of_user({"./train", "--token-file", path_}, environment({{"SHOAL_TOKEN", other}}));
  ASSERT_FALSE(two);
  EXPECT_THAT(two.error().message(), HasSubstr("contain different tokens"));
}

}  // namespace
}  // namespace shoal::cli::launch
