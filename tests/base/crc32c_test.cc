// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/crc32c.h"

#include <gtest/gtest.h>

#include <string>

#include "crc32c_ways.h"
#include "shoal/base/random.h"

namespace shoal {
namespace {

std::string random_bytes(size_t count) {
  RandomStream random(RandomKey{7});
  std::string bytes(count, '\0');
  for (char& byte : bytes) byte = char(random.below(256));
  return bytes;
}

// RFC 3720, appendix B.4.
TEST(Crc32c, PublishedValues) {
  std::string ascending(32, '\0'), descending(32, '\0');
  for (size_t i = 0; i < 32; ++i) ascending[i] = char(i), descending[i] = char(31 - i);
  for (const auto way : {&crc32c, &crc32c_by_table}) {
    EXPECT_EQ(way("123456789"), 0xe3069283u);
    EXPECT_EQ(way(std::string(32, '\0')), 0x8a9136aau);
    EXPECT_EQ(way(std::string(32, '\xff')), 0x62a8ab43u);
    EXPECT_EQ(way(ascending), 0x46dd794eu);
    EXPECT_EQ(way(descending), 0x113fdb5cu);
    EXPECT_EQ(way(""), 0u);
  }
}

TEST(Crc32c, TheInstructionGivesWhatTheTableGives) {
  if (!has_crc32c_instruction()) GTEST_SKIP() << "this processor, or this program, has no instruction for CRC-32C";
  const std::string bytes = random_bytes(16384);
  const std::string_view all(bytes);
  // Lengths around those at which it takes larger pieces (384 and 3072 bytes), from every alignment.
  for (size_t begin = 0; begin < 16; ++begin) {
    for (size_t length = 0; length < 900; ++length) {
      ASSERT_EQ(crc32c_by_instruction(all.substr(begin, length)), crc32c_by_table(all.substr(begin, length)))
          << "from " << begin << ", " << length << " bytes";
    }
    for (size_t length = 3000; length < 7000; length += length < 3200 ? 1 : 37) {
      ASSERT_EQ(crc32c_by_instruction(all.substr(begin, length)), crc32c_by_table(all.substr(begin, length)))
          << "from " << begin << ", " << length << " bytes";
    }
  }
  EXPECT_EQ(crc32c_by_instruction(all), crc32c_by_table(all));
}

}  // namespace
}  // namespace shoal
