// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Derives, from the credential of a job's tasks, how a task's monitoring endpoint (/metrics) proves its identity to other
/// machines, and which clients it admits. Implemented with OpenSSL; a build without TLS returns FailedPrecondition.
#include <string>

#include "shoal/transport/credential.h"

namespace shoal::transport {

/// The server name in the certificates of all endpoints, whatever the names of their hosts: `server_name` of Prometheus.
inline constexpr const char* kScrapeServerName = "shoal-metrics";

struct ScrapeAccess {
  /// The endpoint's certificate and key.
  KeyPair own;
  /// The endpoint admits clients that send this as "Authorization: Bearer ...". Empty: it admits nobody by a secret.
  Secret bearer;
  /// CAs in PEM: the endpoint admits clients with a certificate of one of them. Empty: it admits nobody by a certificate.
  std::string authorities;
};

/// For a job with a token: the bearer secret, "shoal-metrics-" and 43 characters of base64url (RFC 4648, section 5), and an
/// Ed25519 key with a self-signed certificate for kScrapeServerName, valid from 2020 to 9999. Equal tokens give equal
/// results, so a monitoring system can get them before the job starts. They reveal nothing of the token: HKDF-SHA256 (RFC
/// 5869) of its 32 bytes, without salt, derives them with the infos "shoal metrics v1" (the secret's 32 bytes), "shoal
/// metrics v1 key" (the key's 32 bytes) and "shoal metrics v1 serial" (the certificate's serial number of 16 bytes).
///
/// For a task with a certificate: that certificate, no bearer secret, and the CAs that the task trusts.
///
/// FailedPrecondition: this build has no TLS. Internal: OpenSSL fails.
Result<ScrapeAccess> scrape_access(const Credential& credential);

}  // namespace shoal::transport
