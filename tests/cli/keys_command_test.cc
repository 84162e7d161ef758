// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include "fixture.h"
#include "shoal/transport/credential.h"

namespace shoal::cli {
namespace {

using ::testing::HasSubstr;
using testing::Output;
using testing::shoal_program;

class KeysCommand : public testing::InFolder {};

TEST_F(KeysCommand, PrintsAFreshToken) {
  const Output run = shoal_program({"keys", "token"});
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.err, "");
  EXPECT_TRUE(run.out.ends_with("\n"));
  EXPECT_TRUE(transport::Token::parse(run.out));
  EXPECT_NE(shoal_program({"keys", "token"}).out, run.out);
}

TEST_F(KeysCommand, WritesAFileThatIsAccepted) {
  const std::string path = folder + "/token";
  const Output run = shoal_program({"keys", "token", "--out", path});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.out, "");
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_TRUE(transport::find_token({.file = path}));
  const std::string before = read("token");
  const Output again = shoal_program({"keys", "token", "--out", path});
  EXPECT_EQ(again.status, 2);
  EXPECT_THAT(again.err, HasSubstr("nothing was changed"));
  EXPECT_EQ(read("token"), before);
  EXPECT_EQ(shoal_program({"keys", "token", "--out", folder + "/none/token"}).status, 1);
}

TEST_F(KeysCommand, SaysWhatItCanMake) {
  EXPECT_EQ(shoal_program({"keys"}).status, 2);
  for (const char* what : {"token", "metrics", "ca", "task", "watcher"})
    EXPECT_THAT(shoal_program({"keys", "--help"}).out, HasSubstr(what));
}

class MetricsKeys : public KeysCommand {
 protected:
  void SetUp() override {
    if (!SHOAL_TEST_TLS) GTEST_SKIP() << "this build has no TLS (SHOAL_TLS=OFF)";
    ASSERT_EQ(shoal_program({"keys", "token", "--out", token}).status, 0);
  }
  const std::string token = folder + "/token";
};

TEST_F(MetricsKeys, AreDerivedFromTheTokenAndDoNotShowIt) {
  const Output run = shoal_program({"keys", "metrics", "--token-file", token});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, ::testing::MatchesRegex("shoal-metrics-[A-Za-z0-9_-]{43}\n"));
  EXPECT_EQ(shoal_program({"keys", "metrics", "--token-file", token}).out, run.out);
  EXPECT_THAT(run.out, ::testing::Not(HasSubstr(read("token").substr(7, 8))));
}

TEST_F(MetricsKeys, AreWrittenSoThatOnlyTheOwnerReadsTheSecret) {
  EXPECT_EQ(shoal_program({"keys", "metrics", "--token-file", token, "--out", folder + "/secret"}).status, 0);
  EXPECT_EQ(shoal_program({"keys", "metrics", "--certificate", "--token-file", token, "--out", folder + "/own.pem"}).status,
            0);
  EXPECT_EQ(read("secret"), shoal_program({"keys", "metrics", "--token-file", token}).out);
  EXPECT_THAT(read("own.pem"), HasSubstr("BEGIN CERTIFICATE"));
  struct stat status {};
  ASSERT_EQ(::stat((folder + "/secret").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_EQ(shoal_program({"keys", "metrics", "--token-file", token, "--out", folder + "/secret"}).status, 2);
}

TEST_F(MetricsKeys, NeedAToken) {
  const Output run = shoal_program({"keys", "metrics"});
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.err, HasSubstr("--token-file"));
  EXPECT_NE(shoal_program({"keys", "metrics", "--token-file", folder + "/none"}).status, 0);
}

class CertificateCommands : public KeysCommand {
 protected:
  const std::string ca = folder + "/ca";

  void SetUp() override {
    if (!SHOAL_TEST_TLS) GTEST_SKIP() << "this build has no TLS (SHOAL_TLS=OFF)";
  }
  Output make_task(const std::string& out, std::vector<std::string> more = {}) {
    std::vector<std::string> words{"keys",   "task",    "--ca", ca,      "--role",
                                   "worker", "--index", "3",    "--out", folder + "/" + out};
    words.insert(words.end(), more.begin(), more.end());
    return shoal_program(words);
  }
  unsigned mode(const std::string& name) {
    struct stat status {};
    EXPECT_EQ(::stat((folder + "/" + name).c_str(), &status), 0) << name;
    return status.st_mode & 0777;
  }
};

TEST_F(CertificateCommands, MakeWhatATaskTakes) {
  const Output made = shoal_program({"keys", "ca", "--out", ca});
  EXPECT_EQ(made.status, 0) << made.err;
  EXPECT_EQ(made.json()["certificate"], ca + "/ca.pem");
  EXPECT_EQ(mode("ca"), 0700u);
  EXPECT_EQ(mode("ca/ca.key"), 0600u);
  const Output task = make_task("w3", {"--days", "10"});
  EXPECT_EQ(task.status, 0) << task.err;
  EXPECT_EQ(task.json()["task"], "worker 3");
  EXPECT_EQ(task.json()["tls_dir"], folder + "/w3");
  // The times are ten days and ten years from now, and such texts sort by time.
  EXPECT_LT(task.json()["valid_until"], made.json()["valid_until"]);
  EXPECT_EQ(mode("w3/task.key"), 0600u);
  EXPECT_EQ(read("w3/ca.pem"), read("ca/ca.pem"));
  const auto found = transport::find_credential({.tls_dir = folder + "/w3"}, std::chrono::system_clock::now());
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(std::get<transport::Certificate>(**found).owner(), (transport::PeerIdentity{"worker", 3}));
}

TEST_F(CertificateCommands, NeverOverwrite) {
  ASSERT_EQ(shoal_program({"keys", "ca", "--out", ca}).status, 0);
  ASSERT_EQ(make_task("w3").status, 0);
  const std::string before = everything();
  for (const Output& again : {shoal_program({"keys", "ca", "--out", ca}), make_task("w3"), make_task("ca")}) {
    EXPECT_EQ(again.status, 2);
    EXPECT_THAT(again.err, HasSubstr("nothing was changed"));
  }
  write("half/task.key", "something of another's");  // The command would write this file last.
  EXPECT_EQ(make_task("half").status, 2);
  EXPECT_FALSE(std::filesystem::exists(folder + "/half/ca.pem"));
  EXPECT_EQ(read("half/task.key"), "something of another's");
  std::filesystem::remove_all(folder + "/half");
  EXPECT_EQ(everything(), before);
  // The path of the folder has the greatest length, so that paths of files in it are too long.
  std::string longest = folder + "/" + std::string(4088 - folder.size(), '.') + "new";
  for (size_t i = folder.size() + 2; i + 3 < longest.size(); i += 2) longest[i] = '/';
  const Output too_long = make_task(longest.substr(folder.size() + 1));
  EXPECT_NE(too_long.status, 0);
  EXPECT_EQ(everything(), before) << "a new folder was left behind";
}

TEST_F(CertificateCommands, RefuseWhatIsNoTask) {
  ASSERT_EQ(shoal_program({"keys", "ca", "--out", ca}).status, 0);
  const std::vector<std::vector<std::string>> wrong = {{"--role", "boss", "--index", "0"},
                                                       {"--role", "Worker", "--index", "0"},
                                                       {"--role", "worker", "--index", "-1"},
                                                       {"--role", "worker", "--index", "65536"},
                                                       {"--role", "worker"},
                                                       {"--index", "0"},
                                                       {"--role", "worker", "--index", "0", "--days", "0"}};
  for (std::vector<std::string> words : wrong) {
    words.insert(words.begin(), {"keys", "task", "--ca", ca, "--out", folder + "/x"});
    EXPECT_EQ(shoal_program(words).status, 2);
  }
  EXPECT_FALSE(std::filesystem::exists(folder + "/x"));
}

/// Its folder is no task's, whatever the files are called, and it is valid no longer than the CA.
TEST_F(CertificateCommands, MakeAWatcherThatIsNoTask) {
  const std::vector<std::string> words{"keys", "watcher", "--ca", ca, "--out", folder + "/watcher", "--days", "3650"};
  EXPECT_NE(shoal_program(words).status, 0);
  EXPECT_FALSE(std::filesystem::exists(folder + "/watcher"));
  const Output authority = shoal_program({"keys", "ca", "--out", ca, "--days", "10"});
  ASSERT_EQ(authority.status, 0);
  const Output made = shoal_program(words);
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_EQ(made.json()["certificate"], folder + "/watcher/watcher.pem");
  EXPECT_EQ(made.json()["key"], folder + "/watcher/watcher.key");
  EXPECT_EQ(made.json()["valid_until"], authority.json()["valid_until"]);
  EXPECT_EQ(mode("watcher/watcher.key"), 0600u);
  EXPECT_EQ(read("watcher/ca.pem"), read("ca/ca.pem"));
  const auto as_task = [this] {
    return transport::find_credential({.tls_dir = folder + "/watcher"}, std::chrono::system_clock::now());
  };
  EXPECT_FALSE(as_task());
  for (const char* end : {"pem", "key"}) {
    std::filesystem::rename(folder + "/watcher/watcher." + end, folder + "/watcher/task." + end);
  }
  const auto renamed = as_task();
  ASSERT_FALSE(renamed);
  EXPECT_THAT(renamed.error().message(), HasSubstr("names no task"));
}

TEST_F(CertificateCommands, NeedTheCa) {
  EXPECT_THAT(make_task("w3").err, HasSubstr("ca.pem: cannot be opened"));
  ASSERT_EQ(shoal_program({"keys", "ca", "--out", ca}).status, 0);
  ::chmod((ca + "/ca.key").c_str(), 0640);
  const Output open = make_task("w3");
  EXPECT_EQ(open.status, 2);
  EXPECT_THAT(open.err, HasSubstr("chmod 600 " + ca + "/ca.key"));
  EXPECT_FALSE(std::filesystem::exists(folder + "/w3"));
}

TEST_F(KeysCommand, WithoutTlsThereAreNoCertificates) {
  if (SHOAL_TEST_TLS) GTEST_SKIP() << "this build has TLS";
  const Output made = shoal_program({"keys", "ca", "--out", folder + "/ca"});
  EXPECT_EQ(made.status, 2);
  EXPECT_THAT(made.err, HasSubstr("this build has no TLS, and so no certificates"));
  EXPECT_FALSE(std::filesystem::exists(folder + "/ca"));
}

}  // namespace
}  // namespace shoal::cli
