// SPDX-License-Identifier: Apache-2.0
// What tcp puts around bodies: a preamble and a frame head. What can be read says the same when it is written again.
#include <algorithm>

#include "frame.h"
#include "shoal/base/check.h"
#include "target.h"

namespace shoal::transport::tcp {
namespace {

void read_preamble(const PreambleBytes& bytes) {
  const Result<Preamble> preamble = decode(bytes);
  if (!preamble) return;
  PreambleBytes known = bytes;
  known[8] &= std::byte(1);  // The other flags are for later versions.
  known[9] = {};
  SHOAL_CHECK(encode(*preamble) == known);
}

void read_frame(const FrameBytes& bytes) {
  const Result<Frame> frame = decode(bytes);
  if (!frame) return;
  FrameBytes again;
  encode(*frame, again);
  FrameBytes known = bytes;
  std::fill(&known[65], &known[72], std::byte(0));  // Seven zeros, which a reader passes over.
  const uint64_t sealed = checksum_of(std::span(known).first(80));
  std::memcpy(&known[80], &sealed, sizeof sealed);
  SHOAL_CHECK(again == known);
}

}  // namespace
}  // namespace shoal::transport::tcp

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace tcp = shoal::transport::tcp;
  shoal::fuzz::Input input(data, size);
  tcp::read_preamble(input.take<tcp::PreambleBytes>());
  auto head = input.take<tcp::FrameBytes>();
  tcp::read_frame(head);
  // No chance finds a checksum, so the head gets a right one.
  const uint64_t sealed = tcp::checksum_of(std::span(head).first(80));
  std::memcpy(&head[80], &sealed, sizeof sealed);
  tcp::read_frame(head);
  return 0;
}
