// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The body of a message as a peer sends it: verified, read, sent on.
#include "shoal/transport/message.h"
#include "target.h"

namespace shoal::fuzz {

/// The first 4 bytes of the input say how many of its last lie apart, as a payload does that shm left in the peer's
/// memory; the others are a body of `kind`.
void receive_body(transport::MessageKind kind, const uint8_t* data, size_t size);

/// Reads all of a verified message, and makes another of what it says.
void read_message(const transport::Message& message);

}  // namespace shoal::fuzz
