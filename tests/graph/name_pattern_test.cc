// SPDX-License-Identifier: Apache-2.0
#include "shoal/graph/name_pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace shoal {
namespace {

using testing::HasSubstr;

TEST(NamePattern, MatchesNamesThatHaveLineEnds) {
  const NamePattern pattern = value_or_raise(NamePattern::make("linear/.*/weights"));
  EXPECT_TRUE(pattern.matches("linear/c\nd/weights"));
  EXPECT_TRUE(pattern.matches("linear/c\r\n/weights"));
  EXPECT_FALSE(pattern.matches("linear/c\nd/bias"));
  EXPECT_TRUE(value_or_raise(NamePattern::make("c\nd")).matches("c\nd"));
  EXPECT_TRUE(pattern.matches("linear/" + std::string(16000, 'l') + "/weights"));
}

TEST(NamePattern, MatchesWholeNamesOnly) {
  const auto matches = [](std::string pattern, std::string_view name) {
    return value_or_raise(NamePattern::make(std::move(pattern))).matches(name);
  };
  EXPECT_TRUE(matches("conv", "conv"));
  EXPECT_FALSE(matches("conv", "conv/kernel"));
  EXPECT_FALSE(matches("conv", "a/conv"));
  EXPECT_TRUE(matches("conv|conv/kernel", "conv/kernel"));
  EXPECT_TRUE(matches("(conv|dense)_[0-9]+/(kernel|bias)", "dense_12/bias"));
  EXPECT_TRUE(matches("[^]/]+/[[:alpha:]]{3}\\.[]\x5b]", "a.b/xyz.]"));
  EXPECT_TRUE(matches("conv/.*?", "conv/kernel"));
  EXPECT_TRUE(matches("", ""));
  EXPECT_FALSE(matches(".*", std::string_view("a\0b", 3)));
  EXPECT_FALSE(matches("!logits/.*", "logits/bias"));
  EXPECT_TRUE(matches("!logits/.*", "dense/logits/bias"));
  EXPECT_TRUE(matches("!logits", "logits/bias"));
  EXPECT_FALSE(matches("!(a|b)/.*", "b/x"));
}

TEST(NamePattern, NamesWhatItsExpressionMatches) {
  EXPECT_TRUE(value_or_raise(NamePattern::make("logits/.*")).names("logits/bias"));
  EXPECT_TRUE(value_or_raise(NamePattern::make("!logits/.*")).names("logits/bias"));
  EXPECT_FALSE(value_or_raise(NamePattern::make("!logits/.*")).names("dense/bias"));
}

TEST(NamePattern, RefusesWhatOtherExpressionsReadInAnotherWay) {
  const auto error = [](std::string pattern) { return NamePattern::make(std::move(pattern)).error().message(); };
  EXPECT_EQ(error("layer\\d+"),
            "\"layer\\d+\" is not a regular expression (POSIX extended): \"\\d\" has no meaning, since a "
            "backslash may only stand before a punctuation mark; write [0-9] for a digit, and "
            "[A-Za-z0-9_] for a letter, a digit or _");
  EXPECT_THAT(error("(a)\\1"), HasSubstr("\"\\1\" has no meaning"));
  EXPECT_THAT(error("(?:a|b)/.*"),
              HasSubstr("\"(?\" has no meaning; a group begins with (, and a pattern for all names but some with !"));
  EXPECT_THAT(error("[[:digit:]\\.]+"), HasSubstr("a backslash between [ and ] stands for itself; write [.] for [\\.]"));
  EXPECT_THAT(error("out/(b"), HasSubstr("\"out/(b\" is not a regular expression (POSIX extended): Unmatched ( or \\("));
  EXPECT_THAT(error("[a-"), HasSubstr("Unmatched [, [^, [:, [., or [="));
  EXPECT_THAT(error("a)("), HasSubstr("Unmatched"));
  EXPECT_THAT(error("a\\"), HasSubstr("Trailing backslash"));
  for (const char* text : {"!", "!!a"}) EXPECT_THAT(error(text), HasSubstr("is one ! and an expression"));
  EXPECT_THAT(error(std::string("a\0b", 3)), HasSubstr("a character with the code 0"));
}

}  // namespace
}  // namespace shoal
