// SPDX-License-Identifier: Apache-2.0
// The body of a chunk message.
#include "body.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  shoal::fuzz::receive_body(shoal::transport::MessageKind::kChunk, data, size);
  return 0;
}
