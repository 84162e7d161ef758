// SPDX-License-Identifier: Apache-2.0
// Takes the place of raw_tls.cc where the build has no TLS.
#include "raw_tls.h"
#include "shoal/base/check.h"

namespace shoal::bench {

bool has_tls() { return false; }

Exchange tls_round_trips(size_t, int64_t) { SHOAL_CHECK(false); }
Exchange tls_stream(size_t, int64_t, bool) { SHOAL_CHECK(false); }

}  // namespace shoal::bench
