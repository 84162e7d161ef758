// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/utf8.h"

#include <gtest/gtest.h>

namespace shoal {
namespace {

TEST(Utf8, HasThePlaceOfItsFirstWrongByte) {
  for (const char* text : {"", "plain", "h\xC3\xB6he", "\xE6\x9C\xA8", "\xF0\x9F\x8C\xB2", "\xEF\xBB\xBFx", "\xED\x9F\xBF",
                           "\xF4\x8F\xBF\xBF"}) {
    EXPECT_FALSE(find_no_utf8(text)) << text;
  }
  const std::pair<const char*, size_t> wrong[] = {{"h\xF6he", 1},          {"\x80", 0},
                                                  {"ab\xC3", 2},           {"\xC3\x28", 0},
                                                  {"\xC0\xAF", 0},         {"\xE0\x80\xAF", 0},
                                                  {"x\xED\xA0\x80", 1},    {"\xF0\x80\x80\xAF", 0},
                                                  {"\xF4\x90\x80\x80", 0}, {"\xF8\x88\x80\x80\x80", 0},
                                                  {"\xC3\xB6\xFF", 2},     {"\xE6\x9C", 0}};
  for (const auto& [text, place] : wrong) EXPECT_EQ(find_no_utf8(text), place) << text;
}

TEST(Utf8, IsAskedForWithTheByteAndWhatHelps) {
  EXPECT_TRUE(check_utf8("h\xC3\xB6he", "name", "change it"));
  const Error error = check_utf8("h\xF6he", "the name of column 1", "change it").error();
  EXPECT_EQ(error.kind(), ErrorKind::kInvalidArgument);
  EXPECT_EQ(error.message(),
            "the name of column 1 (\"h\\xF6he\") is no UTF-8: its byte 1 (counted from 0) is 0xF6; change it");
  const std::string far = std::string(100, 'a') + "\xC3\xB6\xFF" + std::string(100, 'b');
  EXPECT_EQ(check_utf8(far, "word", "change it").error().message(),
            "word (\"..." + std::string(38, 'a') + "\xC3\xB6\\xFF" + std::string(19, 'b') +
                "...\") is no UTF-8: its byte 102 (counted from 0) is 0xFF; change it");
}

}  // namespace
}  // namespace shoal
