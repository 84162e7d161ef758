// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Derives from a token the keys that TLS uses.
#include <array>
#include <string>

#include "shoal/transport/token.h"

namespace shoal::transport::tcp {

/// An external pre-shared key (RFC 8446, section 4.2.11), and the name by which the client refers to it.
struct TlsKeys {
  static constexpr size_t kKeyBytes = 32;
  std::array<unsigned char, kKeyBytes> key;
  std::string identity;  ///< "shoal-6-" and 32 hexadecimal digits, where 6 is the protocol version.

  TlsKeys() = default;
  TlsKeys(const TlsKeys&) = default;
  TlsKeys& operator=(const TlsKeys&) = default;
  ~TlsKeys();  ///< Wipes the key.
};

/// Derives key and identity by HKDF-SHA256 (RFC 5869) from the token's 32 bytes, without salt, with the infos "shoal 6
/// tls13 psk" (32 bytes) and "shoal 6 tls13 identity" (16 bytes), where 6 is the protocol version. So peers of different
/// versions have different keys. The identity is sent unencrypted and reveals nothing of the key. The error is Internal if
/// OpenSSL fails.
Result<TlsKeys> derive_tls_keys(const Token& token);

}  // namespace shoal::transport::tcp
