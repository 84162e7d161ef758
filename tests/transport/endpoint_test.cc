// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/transport/transport.h"

namespace shoal::transport {
namespace {

TEST(Endpoint, ReadsAndWritesBack) {
  const auto endpoint = parse_endpoint("tcp://127.0.0.1:2222");
  ASSERT_TRUE(endpoint);
  EXPECT_EQ(endpoint->scheme, "tcp");
  EXPECT_EQ(endpoint->address, "127.0.0.1:2222");
  EXPECT_EQ(to_string(*endpoint), "tcp://127.0.0.1:2222");
  EXPECT_EQ(parse_endpoint("tcp://[::1]:5")->address, "[::1]:5");
}

TEST(Endpoint, SaysWhatIsWrong) {
  const std::pair<std::string, const char*> cases[] = {
      {"127.0.0.1:2222", "no \"://\""},
      {"://a", "scheme"},
      {"TCP://a", "scheme"},
      {"tcp://", "address is empty"},
      {"tcp://a b", "blanks"},
      {"tcp://a\n", "blanks"},
      {"", "no \"://\""},
      {"tcp://" + std::string(513, 'a'), "longer than 512"},
  };
  for (const auto& [text, what] : cases) {
    const auto endpoint = parse_endpoint(text);
    ASSERT_FALSE(endpoint) << text;
    EXPECT_EQ(endpoint.error().kind(), ErrorKind::kInvalidArgument);
    EXPECT_THAT(endpoint.error().message(), testing::HasSubstr(what)) << text;
  }
}

}  // namespace
}  // namespace shoal::transport
