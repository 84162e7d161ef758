// SPDX-License-Identifier: Apache-2.0
// The body of an order message.
#include "body.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  shoal::fuzz::receive_body(shoal::transport::MessageKind::kOrder, data, size);
  return 0;
}
