// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Certificates of tasks, for clusters in which each task has one of its own, signed by the cluster's CA. authority.h makes
/// them.
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shoal/base/result.h"
#include "shoal/base/time.h"

namespace shoal::transport {

/// A task of the cluster, as proved by a certificate.
struct PeerIdentity {
  std::string role;  ///< "chief", "worker", "ps" or "evaluator".
  int32_t index = 0;
  friend bool operator==(const PeerIdentity&, const PeerIdentity&) = default;
};
std::string to_string(const PeerIdentity& task);  ///< Returns "worker 0".
/// The name of the task in a certificate: the URI "shoal:task/worker/0" among the alternative names, which must contain no
/// other URI. All other names in a certificate are ignored.
std::string to_uri(const PeerIdentity& task);
/// Reads what to_uri() writes. InvalidArgument for any other text. A role has 1 to 32 characters of a-z, 0-9 and _; an
/// index is 0 to 65535.
Result<PeerIdentity> parse_task_uri(std::string_view uri);

/// The period in which a certificate is valid, both ends included. Its times are in seconds, since Shoal's WallTime cannot
/// express times after 2262.
struct Validity {
  std::chrono::sys_seconds begin, end;
};
std::string to_utc_text(std::chrono::sys_seconds time);  ///< Returns "2026-11-22 14:05:00 UTC".

/// A text whose memory is wiped when it is destroyed.
class Secret {
 public:
  explicit Secret(std::string text = {}) : text_(std::move(text)) {}
  Secret(const Secret&) = default;
  Secret& operator=(const Secret&) = default;
  Secret(Secret&&) = default;
  Secret& operator=(Secret&&) = default;
  ~Secret();
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// A certificate and its private key, in PEM (RFC 7468).
struct KeyPair {
  std::string certificate;
  Secret key;
};

/// A task's certificate, its key, and the CAs that the task trusts. A value type.
class Certificate {
 public:
  /// `authorities`: certificates of CAs in PEM; several while a cluster moves from one CA to the next. Does not check
  /// whether the certificate is valid at present. InvalidArgument names the mistake: no PEM, or a key that belongs to
  /// another certificate or has a password. FailedPrecondition: the certificate is signed by none of the CAs, is not for
  /// both sides of a connection, or names no task. In a build without TLS always FailedPrecondition.
  static Result<Certificate> parse(const KeyPair& own, std::string_view authorities);

  const PeerIdentity& owner() const { return owner_; }
  const Validity& validity() const { return validity_; }
  // For implementers of a transport. Certificates and key are in DER.
  const std::string& certificate() const { return certificate_; }
  const std::string& key() const { return key_.text(); }
  const std::vector<std::string>& authorities() const { return authorities_; }

 private:
  Certificate() = default;
  PeerIdentity owner_;
  Validity validity_;
  std::string certificate_;
  Secret key_;
  std::vector<std::string> authorities_;
};

/// The task that a certificate (in DER) names, for implementers of a transport. FailedPrecondition if it names none.
Result<PeerIdentity> owner_of_certificate(std::string_view der);

}  // namespace shoal::transport
