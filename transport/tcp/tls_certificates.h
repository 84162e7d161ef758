// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Certificates in OpenSSL's hands, and what is said of those that are refused.
#include <openssl/ssl.h>

#include <optional>
#include <string>

#include "shoal/transport/certificate.h"

namespace shoal::transport::tcp {

/// `context` proves itself with `certificate`, and believes its CAs. False if the library fails.
bool use_certificate(SSL_CTX& context, const Certificate& certificate);
/// The task that it names; FailedPrecondition if it names none.
Result<PeerIdentity> owner_of(X509& certificate);

// Sentences of "it", the peer, that end with what to do.
/// Why its certificate is refused: `error` is one of X509_V_ERR_*, of the certificate itself (depth 0) or of its CA.
std::string why_refused(int error, int depth);
std::string why_unexpected(const PeerIdentity& owner, const PeerIdentity& expected);
/// Why it refuses the certificate of this side, by its alert (RFC 8446, section 6.2); none if that is about something else.
std::optional<std::string> why_it_refuses(int alert);

}  // namespace shoal::transport::tcp
