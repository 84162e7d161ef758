// SPDX-License-Identifier: Apache-2.0
#pragma once
/// How a task's endpoint for monitoring (/metrics) proves itself beyond its machine, and whom it lets in there. All of it follows from
/// what the tasks of the job have anyway. Implemented with OpenSSL; a build without TLS gives FailedPrecondition.
#include <string>

#include "shoal/transport/credential.h"

namespace shoal::transport {

/// The name that certificates of endpoints are good for, whatever their machines are called: `server_name` of Prometheus.
inline constexpr const char* kScrapeServerName = "shoal-metrics";

struct ScrapeAccess {
  /// The endpoint's certificate and key.
  KeyPair own;
  /// Whoever sends this as "Authorization: Bearer ..." is let in. Empty: nobody is by a text.
  Secret bearer;
  /// Certificates of CAs in PEM: whoever proves itself by a certificate of one of these is let in. Empty: nobody is by a certificate.
  std::string authorities;
};

/// For a job with a token: the bearer secret, "shoal-metrics-" and 43 characters of base64url (RFC 4648, section 5), and a key
/// (Ed25519) with a certificate that it has signed itself, good for kScrapeServerName from 2020 to 9999. Each is of one token the same
/// everywhere, so whoever watches the job can be given them beforehand, and none tells anything of the token: they are made of
/// HKDF-SHA256 (RFC 5869) of its 32 bytes without salt, with the infos "shoal metrics v1" (the secret's 32 bytes), "shoal metrics v1 key"
/// (the key's 32) and "shoal metrics v1 serial" (the certificate's 16).
///
/// For a task with a certificate: that certificate, no bearer secret, and the CAs that the task believes.
///
/// FailedPrecondition: this build has no TLS. Internal: the library fails.
Result<ScrapeAccess> scrape_access(const Credential& credential);

}  // namespace shoal::transport
