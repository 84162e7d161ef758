// SPDX-License-Identifier: Apache-2.0
// Prints frame heads of tcp, whose checksums the scripts beside it cannot make: FRAME_HEAD KIND:LENGTH..., a line of
// hexadecimal digits each.
#include <cstdio>
#include <cstdlib>

#include "raw_peer.h"

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    char* length = nullptr;
    const auto kind = uint8_t(std::strtoul(argv[i], &length, 10));
    if (*length != ':') return 2;
    const auto head = shoal::transport::raw_frame({.kind = kind, .length = std::strtoull(length + 1, nullptr, 10)});
    for (const std::byte byte : head) std::printf("%02x", unsigned(byte));
    std::printf("\n");
  }
  return 0;
}
