// SPDX-License-Identifier: Apache-2.0
/// Slurm's abbreviated lists of nodes and counts.
#include "job/resolvers/node_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "shoal/base/random.h"

namespace shoal::cluster {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> nodes(std::string_view text) {
  const auto list = parse_node_list(text);
  EXPECT_TRUE(list) << text << ": " << (list ? "" : list.error().message());
  return list ? *list : std::vector<std::string>();
}

TEST(NodeList, IsExpanded) {
  EXPECT_THAT(nodes("n1"), ElementsAre("n1"));
  EXPECT_THAT(nodes("a,b-c.d_e"), ElementsAre("a", "b-c.d_e"));
  EXPECT_THAT(nodes("n[1-3,7]"), ElementsAre("n1", "n2", "n3", "n7"));
  EXPECT_THAT(nodes("n[08-11]"), ElementsAre("n08", "n09", "n10", "n11"));
  EXPECT_THAT(nodes("n[098-101]x"), ElementsAre("n098x", "n099x", "n100x", "n101x"));
  EXPECT_THAT(nodes("n[9-11]"), ElementsAre("n9", "n10", "n11"));
  EXPECT_THAT(nodes("r[0-1]n[1-2],login"), ElementsAre("r0n1", "r0n2", "r1n1", "r1n2", "login"));
  EXPECT_THAT(nodes("[1-2]"), ElementsAre("1", "2"));
  EXPECT_THAT(nodes("n[5-5]"), ElementsAre("n5"));
  EXPECT_THAT(nodes("n[18446744073709551615]"), ElementsAre("n18446744073709551615"));
}

TEST(NodeList, ThatMakesNoSenseIsToldWhere) {
  const std::vector<std::pair<std::string, std::string>> cases{{"", "there is no node"},
                                                               {",", "character 1: a node's name is missing"},
                                                               {"a,", "character 3: a node's name is missing"},
                                                               {"a,,b", "character 3"},
                                                               {"n[1-3", "a closing bracket is missing"},
                                                               {"n[", "character 3: a number is missing"},
                                                               {"n[]", "character 3: a number is missing"},
                                                               {"n[1-]", "character 5: a number is missing"},
                                                               {"n[a]", "a number is missing"},
                                                               {"n]", "character 2: no part of a node's name"},
                                                               {"n 1", "character 2"},
                                                               {"n[3-1]", "a range goes down"},
                                                               {"n[18446744073709551616]", "too large"},
                                                               {"n[0-99999999999]", "more than 100000 nodes"},
                                                               {"n[0-999]m[0-999]", "more than 100000 nodes"},
                                                               {"n[1-60000],m[1-60000]", "more than 100000 nodes"},
                                                               {"n[000000000000000000000000001]", "too long"}};
  for (const auto& [text, part] : cases) {
    const auto list = parse_node_list(text);
    ASSERT_FALSE(list) << text;
    EXPECT_EQ(list.error().kind(), ErrorKind::kInvalidArgument);
    EXPECT_THAT(list.error().message(), HasSubstr(part)) << text;
  }
}

TEST(NodeList, HasNoMoreNamesThanFit) {
  const std::string long_name(1000, 'n');
  EXPECT_THAT(parse_node_list(long_name + "[1-50000]").error().message(), HasSubstr("too long names"));
  EXPECT_EQ(nodes("n[1-100000]").size(), 100000u);
}

/// An accepted text gives the names that a simpler reader finds in simpler texts, and nothing crashes.
TEST(NodeList, WithAnyCharactersIsUnderstoodOrRefused) {
  constexpr std::string_view kCharacters = "n[]-,019 ";
  RandomStream random(1);
  int understood = 0;
  for (int round = 0; round < 50'000; ++round) {
    std::string text;
    for (uint64_t i = random.below(12); i > 0; --i) text += kCharacters[random.below(kCharacters.size())];
    const auto list = parse_node_list(text);
    if (!list) continue;
    ++understood;
    ASSERT_FALSE(list->empty()) << text;
    if (text.find('[') == std::string::npos) {
      EXPECT_EQ(list->size(), size_t(std::count(text.begin(), text.end(), ',')) + 1) << text;
    }
    for (const std::string& name : *list) EXPECT_EQ(name.find_first_of("[], "), std::string::npos) << text;
  }
  EXPECT_GT(understood, 500);
}

TEST(TaskCounts, AreExpanded) {
  EXPECT_THAT(value_or_raise(parse_task_counts("5")), ElementsAre(5));
  EXPECT_THAT(value_or_raise(parse_task_counts("5,4(x3)")), ElementsAre(5, 4, 4, 4));
  EXPECT_THAT(value_or_raise(parse_task_counts("2(x2),1")), ElementsAre(2, 2, 1));
  for (const char* text : {"", ",", "5,", "x", "4(x", "4(x)", "4(x0)", "4(y2)", "4(x2)3", "-1", "4(x-1)", "4 (x2)",
                           "99999999999", "1(x99999999999)"}) {
    EXPECT_FALSE(parse_task_counts(text)) << text;
  }
  EXPECT_THAT(parse_task_counts("1(x100000),1").error().message(), HasSubstr("more than 100000 nodes"));
}

}  // namespace
}  // namespace shoal::cluster
