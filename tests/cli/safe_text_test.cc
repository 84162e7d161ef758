// SPDX-License-Identifier: Apache-2.0
/// Text of files and other processes reaches no terminal with characters that a terminal obeys.
#include "safe_text.h"

#include "fixture.h"
#include "json_out.h"
#include "launch/results.h"
#include "text_table.h"

namespace shoal::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::shoal_program;

TEST(SafeText, KeepsLinesWhereTextMayHaveThem) {
  EXPECT_EQ(clean_text("a\tb\nc\x1b[2J\x7f"), "a\uFFFDb\uFFFDc\uFFFD[2J\uFFFD");
  EXPECT_EQ(clean_lines("a\tb\nc\x1b[2J\x7f\r\u009b\u202e"), "a\tb\nc\uFFFD[2J\uFFFD\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(clean_lines("größer, 大きい"), "größer, 大きい");
}

TEST(SafeText, IsInComplaints) {
  const auto run = shoal_program({"events", "nowhere\x1b[2J\u009b"});
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.err, HasSubstr("nowhere\uFFFD[2J\uFFFD: "));
  EXPECT_THAT(shoal_program({"nowhere\x1b[2J"}).err, Not(HasSubstr("\x1b")));
}

TEST(SafeText, IsInTables) {
  EXPECT_THAT(text_table({{.title = "name\x1b", .cells = {"a\x1b[2J", "b\u009b2J"}}}, 80),
              ElementsAre("name", "a [2J", "b\uFFFD2J"));
}

TEST(SafeText, IsInJsonAndReadsBackUnchanged) {
  const Json json{{"a\x7f", "\u0080 \u009b \u00a0 \x1b \uFFFD"}};
  std::string text;
  TextOutput out(text);
  print_line(out, json);
  EXPECT_EQ(text, "{\"a\\u007f\":\"\\u0080 \\u009b \u00a0 \\u001b \uFFFD\"}\n");
  EXPECT_EQ(testing::Json::parse(text)["a\x7f"], "\u0080 \u009b \u00a0 \x1b \uFFFD");
}

TEST(SafeText, IsInTheResultsOfAJob) {
  launch::JobResults results;
  results.evaluated_step = 7;
  results.json = {{"loss\x1b[2J", 0.5}, {"class", "\x1b]0;title\x07"}};
  EXPECT_EQ(launch::results_text(results), "Evaluated at global step 7: loss\uFFFD[2J 0.5, class \uFFFD]0;title\uFFFD");
}

}  // namespace
}  // namespace shoal::cli
