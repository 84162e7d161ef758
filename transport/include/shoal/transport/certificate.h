// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What a task proves itself with where each has a certificate of its own, signed by the CA of the cluster. How they
/// are made is in authority.h.
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shoal/base/result.h"
#include "shoal/base/time.h"

namespace shoal::transport {

/// Which task of the cluster somebody has proved to be, by a certificate.
struct PeerIdentity {
  std::string role;  ///< "chief", "worker", "ps" or "evaluator".
  int32_t index = 0;
  friend bool operator==(const PeerIdentity&, const PeerIdentity&) = default;
};
std::string to_string(const PeerIdentity& task);  ///< Such as "worker 0".
/// The task as certificates name it: the one URI among the alternative names, "shoal:task/worker/0". Nothing else in
/// them counts.
std::string to_uri(const PeerIdentity& task);
/// InvalidArgument for anything that to_uri() does not write: a role is 1 to 32 of a-z, 0-9 and _, an index 0 to 65535.
Result<PeerIdentity> parse_task_uri(std::string_view uri);

/// From when until when a certificate is good, both included. (Not WallTime, which ends in 2262.)
struct Validity {
  std::chrono::sys_seconds begin, end;
};
std::string to_utc_text(std::chrono::sys_seconds time);  ///< Such as "2026-11-22 14:05:00 UTC".

/// A text that is wiped when it is destroyed.
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

/// A certificate and the key that it is about, in PEM (RFC 7468).
struct KeyPair {
  std::string certificate;
  Secret key;
};

/// A task's certificate, its key, and the CAs that it believes. A value.
class Certificate {
 public:
  /// `authorities`: certificates of CAs in PEM, one or, while a cluster goes from one CA to the next, several. Whether the
  /// certificate is good at this time is not looked at. InvalidArgument, naming what is wrong: no PEM, a key that belongs
  /// to another certificate or has a password. FailedPrecondition: signed by none of the CAs, not for both sides of a
  /// connection, names no task; in a build without TLS always.
  static Result<Certificate> parse(const KeyPair& own, std::string_view authorities);

  const PeerIdentity& owner() const { return owner_; }
  const Validity& validity() const { return validity_; }
  // What those who implement a transport need, in DER:
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

/// The task that a certificate (in DER) names, for those who implement a transport. FailedPrecondition if it names
/// none.
Result<PeerIdentity> owner_of_certificate(std::string_view der);

}  // namespace shoal::transport
