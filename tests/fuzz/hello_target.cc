// SPDX-License-Identifier: Apache-2.0
// The body of a hello message.
#include "body.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  shoal::fuzz::receive_body(shoal::transport::MessageKind::kHello, data, size);
  return 0;
}
