// SPDX-License-Identifier: Apache-2.0
/// The tests of transport/. With --child or --answer it is instead the peer process of the
/// tests that need a real one.
#include <gmock/gmock.h>

#include <cstring>

#include "../base/death_tests.h"

int child_process(const char* endpoint);                             // Defined in tcp_test.cc.
int answering_peer(const char* endpoint, const char* heartbeat_ms);  // Defined in answering_peer.cc.

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--child") == 0) return child_process(argv[2]);
  if (argc == 4 && std::strcmp(argv[1], "--answer") == 0) return answering_peer(argv[2], argv[3]);
  GTEST_FLAG_SET(death_test_style, shoal::death_test_style());
  testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
