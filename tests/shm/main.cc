// SPDX-License-Identifier: Apache-2.0
/// The tests of transport/shm/ beyond what every transport must do (tests/transport). With --child it is instead the peer
/// process of the tests that need a real one.
#include <gmock/gmock.h>

#include <cstring>

#include "../base/death_tests.h"
#include "holding_peer.h"

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--child") == 0) return shoal::transport::holding_peer(argv[2]);
  GTEST_FLAG_SET(death_test_style, shoal::death_test_style());
  testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
