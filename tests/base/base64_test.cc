// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/base64.h"

#include <gtest/gtest.h>

#include <utility>

namespace shoal {
namespace {

using namespace std::string_literals;

/// RFC 4648, section 10.
const std::pair<const char*, const char*> kPublished[] = {{"", ""},
                                                          {"f", "Zg=="},
                                                          {"fo", "Zm8="},
                                                          {"foo", "Zm9v"},
                                                          {"foob", "Zm9vYg=="},
                                                          {"fooba", "Zm9vYmE="},
                                                          {"foobar", "Zm9vYmFy"}};

std::string without_padding(std::string text) {
  while (text.ends_with('=')) text.pop_back();
  return text;
}

TEST(Base64, HasThePublishedText) {
  for (const auto& [bytes, text] : kPublished) {
    EXPECT_EQ(to_base64(bytes), text);
    EXPECT_EQ(from_base64(text), bytes);
    EXPECT_EQ(to_base64(bytes, Base64::kUrl), without_padding(text));
    EXPECT_EQ(from_base64(without_padding(text), Base64::kUrl), bytes);
  }
}

TEST(Base64, CarriesEveryByteInItsLetters) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += char(byte);
  for (Base64 dialect : {Base64::kPadded, Base64::kUrl}) {
    const std::string text = to_base64(all, dialect);
    EXPECT_EQ(from_base64(text, dialect), all);
    EXPECT_EQ(without_padding(text).find_first_not_of(base64_letters(dialect)), std::string::npos);
  }
  EXPECT_EQ(to_base64("\xfb\xff"s), "+/8=");
  EXPECT_EQ(to_base64("\xfb\xff"s, Base64::kUrl), "-_8");
}

TEST(Base64, RefusesEverySpellingButItsOwn) {
  for (const char* text :
       {"Z", "Zg", "Zg=", "Z===", "====", "Zg==Zg==", "Zm=v", "Zh==", "Zm9=", "Zm9v\n", "Zm-v", "Zm v"}) {
    EXPECT_EQ(from_base64(text), std::nullopt) << text;
  }
  EXPECT_EQ(from_base64("Zg==\0\0\0\0"s), std::nullopt);
  for (const char* text : {"Z", "Zg==", "Zh", "Zm9", "Zm+v", "Zm9vY"}) {
    EXPECT_EQ(from_base64(text, Base64::kUrl), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace shoal
