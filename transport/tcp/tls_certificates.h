// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Gives certificates to OpenSSL, and explains why one is refused.
#include <openssl/ssl.h>

#include <optional>
#include <string>

#include "shoal/transport/certificate.h"

namespace shoal::transport::tcp {

/// Makes `context` use `certificate` and trust its CAs. False if OpenSSL fails.
bool use_certificate(SSL_CTX& context, const Certificate& certificate);
/// The task that the certificate names; FailedPrecondition if it names none.
Result<PeerIdentity> owner_of(X509& certificate);

// The functions below return sentences for error messages. They call the peer "it", and end with advice to the user.

/// Why this side refuses the peer's certificate. `error` is one of X509_V_ERR_*, about the certificate (depth 0) or its CA.
std::string why_refused(int error, int depth);
std::string why_unexpected(const PeerIdentity& owner, const PeerIdentity& expected);
/// Why the peer refuses this side's certificate, according to its alert (RFC 8446, section 6.2); nothing for an alert about
/// something else.
std::optional<std::string> why_it_refuses(int alert);

}  // namespace shoal::transport::tcp
