// SPDX-License-Identifier: Apache-2.0
#include "shoal/cluster/cluster_spec.h"

#include "shoal/cluster/named_size.h"
#include "shoal/cluster/sparse_roles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shoal::cluster {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ClusterSpec cluster_of(const std::vector<std::pair<std::string, int>>& counts) {
  ClusterSpec cluster;
  int port = 1000;
  for (const auto& [role, count] : counts) {
    for (int i = 0; i < count; ++i) EXPECT_TRUE(cluster.add(role, i, "h:" + std::to_string(port++)));
  }
  return cluster;
}

TEST(HostPort, AcceptsNamesAndBothKindsOfAddresses) {
  const struct {
    const char* text;
    HostPort expected;
  } cases[] = {
      {"host0:2222", {"host0", 2222}},
      {"10.0.0.1:0", {"10.0.0.1", 0}},
      {"a-b.c_d.svc:65535", {"a-b.c_d.svc", 65535}},
      {"[::1]:80", {"[::1]", 80}},
      {"[fe80::1%eth0]:7", {"[fe80::1%eth0]", 7}},
      {"m\xC3\xBCnchen:1", {"m\xC3\xBCnchen", 1}},
  };
  for (const auto& c : cases) {
    const auto parsed = parse_host_port(c.text);
    ASSERT_TRUE(parsed) << c.text << ": " << parsed.error().message();
    EXPECT_EQ(*parsed, c.expected) << c.text;
  }
}

TEST(HostPort, RefusesEverythingElse) {
  for (const char* text : {"",
                           "host",
                           ":2222",
                           "host:",
                           "host:x",
                           "host:-1",
                           "host:+1",
                           "host:65536",
                           "host:99999999999999999999",
                           "ho st:1",
                           "host\t:1",
                           " host:1",
                           "host:1 ",
                           "host: 1",
                           "h\x01:1",
                           "h\x7F:1",
                           "::1:80",
                           "a:b:1",
                           "[::1]",
                           "[]:1",
                           "[::g]:1",
                           "[1.2.3.4]:1",
                           "[::1:80",
                           "::1]:80",
                           "x[::1]:80",
                           "tcp://h:1",
                           "h:0x10",
                           "h:1.0"}) {
    const auto parsed = parse_host_port(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().kind(), ErrorKind::kInvalidArgument) << text;
    EXPECT_THAT(parsed.error().message(), HasSubstr("is not host:port")) << text;
  }
}

TEST(HostPort, QuotesLongAndStrangeTextShortened) {
  const auto parsed = parse_host_port(std::string(100000, 'x') + "\n");
  ASSERT_FALSE(parsed);
  EXPECT_LT(parsed.error().message().size(), 200u);
  EXPECT_EQ(parsed.error().message().find('\n'), std::string::npos);
}

TEST(HostPort, KnowsLoopbackWithoutLookingUpNames) {
  for (const char* address : {"localhost:1", "127.0.0.1:1", "127.255.3.4:1", "[::1]:1", "[0:0:0:0:0:0:0:1]:1"}) {
    EXPECT_TRUE(is_loopback_address(address)) << address;
  }
  for (const char* address : {"128.0.0.1:1", "10.0.0.1:1", "localhost.example.org:1", "127.0.0.1.example.org:1", "[::2]:1",
                              "0.0.0.0:1", "host:1", "localhost"}) {
    EXPECT_FALSE(is_loopback_address(address)) << address;
  }
  ClusterSpec cluster;
  ASSERT_TRUE(cluster.add("chief", 0, "localhost:1"));
  EXPECT_TRUE(cluster.is_loopback());
  ASSERT_TRUE(cluster.add("ps", 0, "far:1"));
  EXPECT_FALSE(cluster.is_loopback());
}

TEST(ClusterSpec, NumbersNodesAsTheContractsExampleSays) {
  const ClusterSpec cluster = cluster_of({{"ps", 2}, {"worker", 3}, {"chief", 1}});
  EXPECT_EQ(cluster.global_id("chief", 0), 0);
  EXPECT_EQ(cluster.global_id("worker", 0), 1);
  EXPECT_EQ(cluster.global_id("worker", 1), 2);
  EXPECT_EQ(cluster.global_id("worker", 2), 3);
  EXPECT_EQ(cluster.global_id("ps", 0), 4);
  EXPECT_EQ(cluster.global_id("ps", 1), 5);
  EXPECT_EQ(cluster.global_id("ps", 2), std::nullopt);
  EXPECT_EQ(cluster.global_id("nobody", 0), std::nullopt);
}

TEST(ClusterSpec, NumbersExtraRolesInByteOrderAndPsLast) {
  const ClusterSpec cluster =
      cluster_of({{"ps", 1}, {"worker", 1}, {"master", 1}, {"other_type", 2}, {"zoo", 1}, {"Apple", 1}});
  EXPECT_EQ(cluster.global_id("master", 0), 0);
  EXPECT_EQ(cluster.global_id("Apple", 0), 1);
  EXPECT_EQ(cluster.global_id("other_type", 0), 2);
  EXPECT_EQ(cluster.global_id("other_type", 1), 3);
  EXPECT_EQ(cluster.global_id("worker", 0), 4);
  EXPECT_EQ(cluster.global_id("zoo", 0), 5);
  EXPECT_EQ(cluster.global_id("ps", 0), 6);
}

TEST(ClusterSpec, SparseRolesOccupyTheirLargestIndexPlusOne) {
  ClusterSpec cluster = cluster_of({{"chief", 1}, {"ps", 1}});
  ASSERT_TRUE(cluster.add("worker", 7, "w:7"));
  ASSERT_TRUE(cluster.add("worker", 3, "w:3"));
  EXPECT_EQ(cluster.count("worker"), 2);
  EXPECT_EQ(cluster.global_id("worker", 3), 4);
  EXPECT_EQ(cluster.global_id("worker", 7), 8);
  EXPECT_EQ(cluster.global_id("worker", 0), std::nullopt);
  EXPECT_EQ(cluster.global_id("ps", 0), 9);
}

TEST(ClusterSpec, PositionsHaveNoGaps) {
  ClusterSpec cluster = cluster_of({{"chief", 1}, {"ps", 2}});
  ASSERT_TRUE(cluster.add("worker", 7, "w:7"));
  ASSERT_TRUE(cluster.add("worker", 3, "w:3"));
  EXPECT_EQ(cluster.position("worker", 3), 0);
  EXPECT_EQ(cluster.position("worker", 7), 1);
  EXPECT_EQ(cluster.position("worker", 0), std::nullopt);
  EXPECT_EQ(cluster.position("evaluator", 0), std::nullopt);
  const SparseRoles sparse = sparse_roles(cluster);
  EXPECT_EQ(sparse.workers, (std::vector<int32_t>{3, 7}));
  EXPECT_TRUE(sparse.servers.empty());  // An empty list stands for all from 0 on.
  EXPECT_EQ(position_in(sparse.workers, 7), 1);
  EXPECT_EQ(position_in(sparse.workers, 4), std::nullopt);
  EXPECT_EQ(position_in(sparse.servers, 1), 1);
  EXPECT_EQ(position_in(sparse.servers, -1), std::nullopt);
  EXPECT_EQ(index_at(sparse.workers, 1), 7);
  EXPECT_EQ(index_at(sparse.servers, 1), 1);
}

TEST(ClusterSpec, GlobalIdsDoNotOverflow) {
  ClusterSpec cluster;
  ASSERT_TRUE(cluster.add("chief", 2147483647, "h:1"));
  ASSERT_TRUE(cluster.add("worker", 2147483647, "h:2"));
  ASSERT_TRUE(cluster.add("ps", 2147483647, "h:3"));
  EXPECT_EQ(cluster.global_id("ps", 2147483647), int64_t(2147483648) * 2 + 2147483647);
}

TEST(ClusterSpec, RefusesBadNodesNamingRoleAndIndex) {
  ClusterSpec cluster = cluster_of({{"chief", 1}});
  for (const auto& result : {cluster.add("worker", 2, "nowhere"), cluster.add("worker", -2, "h:1")}) {
    ASSERT_FALSE(result);
    EXPECT_THAT(result.error().message(), HasSubstr("\"worker\""));
    EXPECT_THAT(result.error().message(), HasSubstr("2"));
  }
  const auto again = cluster.add("chief", 0, "other:1");
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().message(), HasSubstr("twice"));
  EXPECT_EQ(*cluster.address("chief", 0), "h:1000");
}

TEST(ClusterSpec, FindsOneAddressOnTwoPlacesHoweverThePortIsWritten) {
  ClusterSpec cluster;
  ASSERT_TRUE(cluster.add("chief", 0, "a:80"));
  ASSERT_TRUE(cluster.add("worker", 4, "a:080"));
  const auto checked = cluster.check();
  ASSERT_FALSE(checked);
  EXPECT_THAT(checked.error().message(), HasSubstr("\"chief\", index 0"));
  EXPECT_THAT(checked.error().message(), HasSubstr("\"worker\", index 4"));
}

TEST(ClusterSpec, EmptyRolesCountForNothingExceptTheChiefs) {
  ClusterSpec cluster = cluster_of({{"chief", 1}});
  cluster.add_role("worker");
  EXPECT_TRUE(cluster.check());
  EXPECT_EQ(cluster.node_count(), 1);
  EXPECT_THAT(cluster.role_names(), ElementsAre("chief"));
  cluster.add_role("master");
  EXPECT_FALSE(cluster.check());
  ClusterSpec nobody;
  nobody.add_role("chief");
  EXPECT_FALSE(nobody.check());
}

TEST(ClusterSpec, CopiesShareTheirNodesUntilOneChanges) {
  ClusterSpec cluster = cluster_of({{"chief", 1}, {"worker", 2}});
  EXPECT_NE(&ClusterSpec(cluster).roles(), &cluster.roles());
  cluster.share();
  cluster.share();
  const ClusterSpec same = cluster;
  ClusterSpec added = cluster, removed = cluster, named = cluster;
  EXPECT_EQ(&same.roles(), &cluster.roles());
  EXPECT_EQ(&added.roles(), &cluster.roles());
  EXPECT_TRUE(added.add("worker", 2, "h:7"));
  EXPECT_TRUE(removed.remove_role("worker"));
  named.add_role("ps");
  EXPECT_EQ(added.count("worker"), 3);
  EXPECT_EQ(removed.node_count(), 1);
  EXPECT_EQ(named.roles().size(), 3u);
  EXPECT_EQ(cluster, cluster_of({{"chief", 1}, {"worker", 2}}));
  EXPECT_EQ(same, cluster);
  ClusterSpec last = cluster;
  cluster = {};
  EXPECT_TRUE(cluster.empty());
  EXPECT_EQ(last, same);
  const ClusterSpec moved = std::move(last);
  EXPECT_EQ(moved.count("worker"), 2);
}

TEST(ClusterSize, ReadsRolesWithCounts) {
  EXPECT_EQ(*parse_cluster_size("ps:2,worker:3,evaluator"), (ClusterSize{.ps = 2, .workers = 3, .evaluator = true}));
  EXPECT_EQ(*parse_cluster_size("evaluator"), (ClusterSize{.evaluator = true}));
  EXPECT_EQ(*parse_cluster_size("worker,ps"), (ClusterSize{.ps = 1, .workers = 1}));
  EXPECT_EQ(*parse_cluster_size("chief:1,worker:0,ps:1,evaluator:0"), (ClusterSize{.ps = 1}));
  EXPECT_EQ(*parse_cluster_size("chief"), ClusterSize{});
  EXPECT_EQ(*parse_cluster_size("worker,master,ps:2"), (ClusterSize{.ps = 2, .workers = 1, .master = true}));
  EXPECT_EQ(*parse_cluster_size("master,evaluator:0"), (ClusterSize{.master = true}));
  EXPECT_EQ(parse_cluster_size("ps:2,worker:3,evaluator")->tasks(), 7);
}

TEST(ClusterSize, KnowsTheNamedSizes) {
  EXPECT_EQ(*parse_cluster_size("basic"), ClusterSize{});
  EXPECT_EQ(*parse_cluster_size("standard"), (ClusterSize{.ps = 3, .workers = 4, .evaluator = true}));
  EXPECT_EQ(*parse_cluster_size("premium"), (ClusterSize{.ps = 11, .workers = 19, .evaluator = true}));
}

TEST(ClusterSize, ANamedOneIsCutToTheMachine) {
  const auto fitted = [](const char* name, int cores) {
    return to_string(fit_named_size(name, room_on_cores(cores))->size);
  };
  EXPECT_EQ(fitted("basic", 1), "chief");
  EXPECT_EQ(fitted("standard", 64), "ps:3,worker:4,evaluator");
  EXPECT_EQ(fitted("standard", 5), "ps:3,worker:4,evaluator");
  EXPECT_EQ(fitted("standard", 3), "ps:2,worker:2,evaluator");
  EXPECT_EQ(fitted("standard", 1), "ps:1,worker:1,evaluator");
  EXPECT_EQ(fitted("premium", 16), "ps:9,worker:15,evaluator");
  EXPECT_EQ(fitted("premium", 20), "ps:11,worker:19,evaluator");
  EXPECT_EQ(fit_named_size("standard", room_on_cores(5))->warning, std::nullopt);
  const std::string cut =
      "the size standard is ps:3,worker:4,evaluator, which is more than the 2 cores of this machine can "
      "train with: it is cut to ps:1,worker:1,evaluator";
  EXPECT_EQ(fit_named_size("standard", room_on_cores(2))->warning, cut);
  for (const char* other : {"huge", "", "ps:1,worker:1"}) {
    EXPECT_EQ(fit_named_size(other, room_on_cores(8)).error().kind(), ErrorKind::kInvalidArgument);
  }
  const auto read = parse_cluster_size("standard", room_on_cores(2));
  EXPECT_EQ(to_string(read->size), "ps:1,worker:1,evaluator");
  EXPECT_EQ(read->warning, cut + " (counts in place of the name are not cut)");
}

TEST(ClusterSize, CountsAreNotCutToTheMachine) {
  const auto read = parse_cluster_size("ps:3,worker:4", room_on_cores(1));
  EXPECT_EQ(to_string(read->size), "ps:3,worker:4");
  EXPECT_EQ(read->warning, std::nullopt);
  EXPECT_THAT(parse_cluster_size("ps:x", room_on_cores(1)).error().message(), HasSubstr("not a count"));
}

TEST(ClusterSize, ChecksTheCountsOfPrograms) {
  for (const ClusterSize& wrong :
       {ClusterSize{.ps = -1}, ClusterSize{.ps = 1, .workers = -1}, ClusterSize{.ps = 100'001}}) {
    ASSERT_FALSE(wrong.check());
    EXPECT_EQ(wrong.check().error().kind(), ErrorKind::kInvalidArgument);
  }
  EXPECT_EQ((ClusterSize{.ps = 1, .workers = -1}.check().error().message()),
            "the number of \"worker\" is -1, expected a count from 0 to 100000");
  EXPECT_TRUE((ClusterSize{.ps = 100'000, .workers = 100'000, .evaluator = true}.check()));
}

TEST(ClusterSize, RefusesWhatItCannotSetUp) {
  const struct {
    const char* text;
    const char* why;
  } cases[] = {
      {"", "\"\" is none of"},
      {"ps:", "not a count"},
      {"ps:-1", "not a count"},
      {"ps:x", "not a count"},
      {"ps:1.5", "not a count"},
      {"ps:99999999999", "not a count"},
      {"ps:1,", "\"\" is none of"},
      {"ps:1,ps:2", "given twice"},
      {"chief:2", "exactly one chief"},
      {"chief:0", "exactly one"},
      {"evaluator:2", "at most one"},
      {"master:2", "exactly one master"},
      {"PS:1", "\"PS\" is none of"},
      {"ps:1, worker:1", "none of"},
      {"master,chief", "in the place of the chief"},
      {"chief,master", "in the place of the chief"},
      {"master,ps:1,evaluator", "no evaluator beside a master"},
  };
  for (const auto& c : cases) {
    const auto size = parse_cluster_size(c.text);
    ASSERT_FALSE(size) << c.text;
    EXPECT_EQ(size.error().kind(), ErrorKind::kInvalidArgument);
    EXPECT_THAT(size.error().message(), HasSubstr(c.why)) << c.text;
  }
}

TEST(ClusterSize, TextReadsBack) {
  for (const char* text : {"ps:2,worker:3,evaluator", "chief", "ps:1", "evaluator", "master", "master,ps:1,worker:2"}) {
    EXPECT_EQ(to_string(*parse_cluster_size(text)), text);
  }
}

}  // namespace
}  // namespace shoal::cluster
