// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What OpenSSL itself can do between two threads: TLS 1.3 with a shared key over a SocketPair, blocking, by nothing but
/// SSL_write and SSL_read.
#include <cstddef>
#include <cstdint>

#include "pair.h"

namespace shoal::bench {

/// Whether this build encrypts (SHOAL_TLS); the others are only to be called where it does.
bool has_tls();
/// Measures as socket_round_trips() does.
Exchange tls_round_trips(size_t bytes, int64_t count);
/// Measures as socket_stream() does.
Exchange tls_stream(size_t bytes, int64_t count, bool touch);

}  // namespace shoal::bench
