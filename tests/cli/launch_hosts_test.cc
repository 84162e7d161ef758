// SPDX-License-Identifier: Apache-2.0
// Jobs on several machines: lists of hosts, placement of tasks, ssh commands, reports of sessions.
// tests/cluster/processes/hosts_test.py runs whole jobs.
#include "fixture.h"
#include "launch/hosts/hosts_file.h"
#include "launch/hosts/marked_lines.h"
#include "launch/hosts/placement.h"
#include "launch/hosts/program_copy.h"
#include "launch/hosts/ssh_command.h"

namespace shoal::cli::launch {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;

TEST(LaunchHostsFile, IsAHostALine) {
  const auto hosts = parse_hosts(
      "# boards\n\nboard1\n  pi@board2:2222   slots=4 # the big one\n10.0.0.7\t\nboard-4.local address=10.0.0.8 slots=2\r\n"
      "fe80::1\n[fe80::2]:23\n",
      "boards");
  ASSERT_TRUE(hosts) << hosts.error().message();
  EXPECT_THAT(*hosts, ElementsAre(Host{.name = "board1", .address = "board1"},
                                  Host{.name = "board2", .user = "pi", .ssh_port = 2222, .slots = 4, .address = "board2"},
                                  Host{.name = "10.0.0.7", .address = "10.0.0.7"},
                                  Host{.name = "board-4.local", .slots = 2, .address = "10.0.0.8"},
                                  Host{.name = "fe80::1", .address = "[fe80::1]"},
                                  Host{.name = "fe80::2", .ssh_port = 23, .address = "[fe80::2]"}));
}

TEST(LaunchHostsFile, SaysWhichLineIsWrong) {
  const auto expect_refused = [](const std::string& text, const std::string& sentence) {
    const auto hosts = parse_hosts(text, "boards");
    ASSERT_FALSE(hosts) << text;
    EXPECT_EQ(hosts.error().kind(), ErrorKind::kInvalidArgument);
    EXPECT_THAT(hosts.error().message(), HasSubstr(sentence));
  };
  expect_refused("", "boards: names no host; each is a line");
  expect_refused("# none\n", "names no host");
  expect_refused("a\nb slots=0\n", "boards, line 2: \"slots=0\": slots are a number, at least 1");
  expect_refused("a slots=", "slots are a number");
  expect_refused("a slots=x", "slots are a number");
  expect_refused("a slots=99999999999", "slots are a number");
  expect_refused("a max_slots=2", "\"max_slots=2\" is neither slots=N nor address=NAME");
  expect_refused("a b", "\"b\" is neither slots=N nor address=NAME");
  expect_refused("a address=b:1", "an address is a name, or numbers, without a port");
  expect_refused("a:0", "\"0\" is no port");
  expect_refused("a:", "\"\" is no port");
  expect_refused("a:70000", "\"70000\" is no port");
  expect_refused(":22", "\"\" is no name of a host");
  expect_refused("-oProxyCommand=x", "\"-oProxyCommand=x\" is no name of a host");
  expect_refused("me@-oProxyCommand=x", "is no name of a host");
  expect_refused("-l@a", "\"-l\" is no name of a user");
  expect_refused("@a", "\"\" is no name of a user");
  expect_refused("a$(id)", "is no name of a host");
  expect_refused("[fe80::1", "the bracket of \"[fe80::1\" does not close");
  expect_refused("[fe80::1]22", "behind a bracket comes a colon");
  expect_refused("a\n\nb\na slots=2", "boards, line 4: a is listed already, in line 1; slots=N");
}

std::vector<Host> hosts_with_slots(const std::vector<int32_t>& slots) {
  std::vector<Host> hosts;
  for (const int32_t count : slots) {
    const std::string name = "board" + std::to_string(hosts.size());
    hosts.push_back({.name = name, .slots = count, .address = name});
  }
  return hosts;
}

TEST(LaunchPlacement, DealsTrainersInTurnsAndSpreadsServers) {
  const auto places = [](const cluster::ClusterSize& size, const std::vector<int32_t>& slots) {
    const auto placed = place_tasks(tasks_of(size), hosts_with_slots(slots));
    return placed ? *placed : std::vector<size_t>();
  };
  // In the order of tasks: chief, servers, workers, evaluator.
  EXPECT_THAT(places({.ps = 1, .workers = 3, .evaluator = true}, {1, 1, 1, 1}), ElementsAre(0, 0, 1, 2, 3, 0));
  EXPECT_THAT(places({.ps = 1, .workers = 2}, {1, 1, 1, 1}), ElementsAre(0, 3, 1, 2));  // An idle host serves.
  EXPECT_THAT(places({.ps = 3, .workers = 2}, {1, 2}), ElementsAre(0, 0, 1, 0, 1, 1));  // The full one is skipped.
  EXPECT_THAT(places({.ps = 2, .workers = 5}, {2, 3, 1}), ElementsAre(0, 2, 0, 1, 2, 0, 1, 1));
  EXPECT_THAT(places({}, {4, 4}), ElementsAre(0));
  EXPECT_THAT(places({.ps = 2, .workers = 1, .evaluator = true}, {2}), ElementsAre(0, 0, 0, 0, 0));
}

TEST(LaunchPlacement, RefusesWhatDoesNotFit) {
  const std::vector<JobTask> tasks = tasks_of({.ps = 1, .workers = 3});
  const auto full = place_tasks(tasks, hosts_with_slots({1, 2}));
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().kind(), ErrorKind::kInvalidArgument);
  EXPECT_THAT(full.error().message(),
              HasSubstr("4 tasks would train (the chief and the workers), but the hosts have 3 slots"));
  std::vector<Host> mixed = hosts_with_slots({4, 4});
  mixed[0].address = "localhost";
  const auto unreachable = place_tasks(tasks, mixed);
  ASSERT_FALSE(unreachable);
  EXPECT_THAT(unreachable.error().message(),
              AllOf(HasSubstr("board1 cannot reach localhost"), HasSubstr("line of board0")));
  EXPECT_TRUE(place_tasks(tasks_of({}), mixed));  // The other host has no task.
}

TEST(LaunchSsh, WordsAreThoseOfAShell) {
  EXPECT_THAT(*words_of("ssh"), ElementsAre("ssh"));
  EXPECT_THAT(*words_of("  ssh -F 'my config' -i\t\"a \\\" b\" c\\ d'' '' "),
              ElementsAre("ssh", "-F", "my config", "-i", "a \" b", "c d", ""));
  EXPECT_THAT(words_of("ssh 'x").error().message(), HasSubstr("does not close"));
  EXPECT_THAT(words_of(" ").error().message(), HasSubstr("no command"));
}

TEST(LaunchSsh, AsksNobodyAndChecksKeys) {
  const Host host{.name = "board1", .user = "pi", .ssh_port = 2222};
  const auto command = ssh_command({"ssh", "-F", "my config"}, host, "exec it");
  EXPECT_THAT(std::vector(command.begin(), command.begin() + 3), ElementsAre("ssh", "-F", "my config"));
  EXPECT_THAT(command, IsSupersetOf({"-oBatchMode=yes", "-oStrictHostKeyChecking=yes", "-oConnectTimeout=10",
                                     "-oServerAliveInterval=5", "-oControlPath=none"}));
  EXPECT_THAT(std::vector(command.end() - 4, command.end()), ElementsAre("-p", "2222", "pi@board1", "exec it"));
}

TEST(LaunchSsh, ComplaintsSayWhatToDo) {
  const Host host{.name = "board1"};
  const auto failure = [&](const char* errors) { return ssh_failure({"ssh", "-F", "my config"}, host, errors); };
  const Error unknown = failure(
      "No ED25519 host key is known for board1 and you have requested strict checking.\r\n"
      "Host key verification failed.\r\n");
  EXPECT_EQ(unknown.kind(), ErrorKind::kFailedPrecondition);
  EXPECT_THAT(unknown.message(),
              AllOf(HasSubstr("board1: its host key is not known"), HasSubstr("ssh -F 'my config' board1")));
  EXPECT_THAT(failure("@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification failed.\n").message(),
              HasSubstr("is not the one that is known"));
  EXPECT_THAT(failure("pi@board1: Permission denied (publickey).\n").message(), HasSubstr("ssh-copy-id"));
  const Error refused = failure("noise\nssh: connect to host board1 port 22: Connection refused\n");
  EXPECT_EQ(refused.kind(), ErrorKind::kUnavailable);
  EXPECT_THAT(refused.message(), HasSubstr("cannot be reached (ssh: connect to host board1 port 22: Connection refused)"));
  EXPECT_THAT(failure("").message(), HasSubstr("ssh says nothing"));
}

TEST(LaunchMarkedLines, AreTakenOutWhereverTheyBegin) {
  const std::string text = "one\ntw@@mark begun 7\no\n@@mar@@mark report {}\n@ no end@@mark ended 0\n@@m";
  for (size_t piece = 1; piece <= text.size(); ++piece) {
    MarkedLines lines("@@mark");
    std::vector<std::string> said;
    std::string passed;
    for (size_t at = 0; at < text.size(); at += piece) passed += lines.take(text.substr(at, piece), said);
    passed += lines.finish();
    EXPECT_EQ(passed, "one\ntwo\n@@mar@ no end@@m") << piece;
    EXPECT_THAT(said, ElementsAre("begun 7", "report {}", "ended 0")) << piece;
  }
}

TEST(LaunchMarkedLines, AreNotHeldWithoutEnd) {
  MarkedLines lines("@@mark");
  std::vector<std::string> said;
  EXPECT_EQ(lines.take("@@mark " + std::string(2 * MarkedLines::kLineBytesMax, 'x'), said), "");
  ASSERT_EQ(said.size(), 1u);
  EXPECT_LE(said[0].size(), MarkedLines::kLineBytesMax);
}

TEST(LaunchCopies, HaveTheSumThatCksumPrints) {  // The sums are those of GNU coreutils 9.1.
  EXPECT_EQ(cksum_text(""), "4294967295 0");
  EXPECT_EQ(cksum_text("123456789"), "930766865 9");
  EXPECT_EQ(cksum_text(std::string(1000, '\xFF')), "2124716915 1000");
}

}  // namespace
}  // namespace shoal::cli::launch
