// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A CA for tests, and credentials with certificates of it.
#include <memory>
#include <string>

#include "shoal/transport/authority.h"
#include "shoal/transport/credential.h"

namespace shoal::transport {

/// `begin` and `end` in hours from now.
Validity hours_from_now(int begin, int end);

/// Only in builds with TLS.
class TestAuthority {
 public:
  explicit TestAuthority(const Validity& validity = hours_from_now(-24, 24));

  /// The CA's certificate, in PEM.
  const std::string& certificate() const { return own_.certificate; }
  const KeyPair& own() const { return own_; }
  KeyPair make(const std::string& role, int index, const Validity& validity = hours_from_now(-1, 1)) const;
  std::shared_ptr<const Credential> credential(const std::string& role, int index,
                                               const Validity& validity = hours_from_now(-1, 1)) const;

 private:
  KeyPair own_;
};

}  // namespace shoal::transport
