// SPDX-License-Identifier: Apache-2.0
#include "tls_keys.h"

#include <openssl/crypto.h>

#include "hkdf.h"
#include "shoal/transport/message.h"

namespace shoal::transport::tcp {

TlsKeys::~TlsKeys() { OPENSSL_cleanse(key.data(), key.size()); }

Result<TlsKeys> derive_tls_keys(const Token& token) {
  const std::string version = std::to_string(kProtocolVersion);
  TlsKeys keys;
  std::array<unsigned char, 16> name{};
  if (!hkdf_sha256({.secret = token.secret(), .info = "shoal " + version + " tls13 psk"}, keys.key) ||
      !hkdf_sha256({.secret = token.secret(), .info = "shoal " + version + " tls13 identity"}, name))
    return internal_error("OpenSSL has no HKDF-SHA256");
  keys.identity = "shoal-" + version + "-";
  for (const unsigned char byte : name) {
    constexpr char kDigits[] = "0123456789abcdef";
    keys.identity += kDigits[byte >> 4];
    keys.identity += kDigits[byte & 15];
  }
  return keys;
}

}  // namespace shoal::transport::tcp
