// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/kernel_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "temporary_folder.h"

namespace shoal {
namespace {

using testing::ElementsAre;

std::vector<std::string> lines_of(const std::string& path) {
  std::vector<std::string> lines;
  KernelFile file(path);
  while (const auto line = file.line()) lines.emplace_back(*line);
  EXPECT_FALSE(file.line());
  return lines;
}

TEST(SplitText, AtLinesKeepsEmptyOnesAndALastOneWithoutAnEnd) {
  EXPECT_THAT(split_at_lines("a b\n\nc\n"), ElementsAre("a b", "", "c"));
  EXPECT_THAT(split_at_lines("\r\nlast"), ElementsAre("\r", "last"));
  EXPECT_THAT(split_at_lines("\n"), ElementsAre(""));
  EXPECT_TRUE(split_at_lines("").empty());
}

TEST(KernelFile, GivesLinesOfAnyLength) {
  const TemporaryFolder folder;
  const std::string wide(100000, 'x');
  EXPECT_THAT(lines_of(folder.write("lines", "a b\n\n" + wide + "\nlast")), ElementsAre("a b", "", wide, "last"));
  EXPECT_THAT(lines_of(folder.write("ended", "a\n")), ElementsAre("a"));
  EXPECT_THAT(lines_of(folder.write("empty", "")), ElementsAre());
  EXPECT_THAT(lines_of(folder / "none"), ElementsAre());
  EXPECT_THAT(lines_of(folder.path()), ElementsAre()) << "a folder can be opened, but not read";
}

TEST(KernelFile, GivesTheNumbersOfTheFirstLine) {
  const TemporaryFolder folder;
  const std::string file = folder.write("numbers", " 7\tmax 99999999999999999999 -3\n8\n");
  EXPECT_THAT(numbers_in<int64_t>(file, 5), ElementsAre(7, std::nullopt, std::nullopt, -3, std::nullopt));
  EXPECT_THAT(numbers_in<uint64_t>(folder / "none", 2), ElementsAre(std::nullopt, std::nullopt));
}

TEST(SplitText, SplitsAtBlanksTabsAndLineEnds) {
  EXPECT_THAT(split_at_blanks(" a\tbc \r\n d"), ElementsAre("a", "bc", "d"));
  EXPECT_THAT(split_at_blanks("word"), ElementsAre("word"));
  EXPECT_THAT(split_at_blanks(" \n"), ElementsAre());
  EXPECT_THAT(split_at_blanks(""), ElementsAre());
}

}  // namespace
}  // namespace shoal
