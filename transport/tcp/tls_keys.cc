// SPDX-License-Identifier: Apache-2.0
#include "tls_keys.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

#include <memory>

#include "shoal/transport/message.h"

namespace shoal::transport::tcp {
namespace {

struct FreeKdf {
  void operator()(EVP_KDF* kdf) const { EVP_KDF_free(kdf); }
  void operator()(EVP_KDF_CTX* context) const { EVP_KDF_CTX_free(context); }
};

bool hkdf_sha256(const Token& token, std::string info, std::span<unsigned char> out) {
  const std::unique_ptr<EVP_KDF, FreeKdf> kdf(EVP_KDF_fetch(nullptr, "HKDF", nullptr));
  if (!kdf) return false;
  const std::unique_ptr<EVP_KDF_CTX, FreeKdf> context(EVP_KDF_CTX_new(kdf.get()));
  if (!context) return false;
  std::array<std::byte, Token::kBytes> secret;  // The interface takes no const.
  std::copy(token.secret().begin(), token.secret().end(), secret.begin());
  char digest[] = "SHA256";
  const OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, secret.data(), secret.size()),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, info.data(), info.size()),
      OSSL_PARAM_construct_end(),
  };
  const bool done = EVP_KDF_derive(context.get(), out.data(), out.size(), parameters) == 1;
  OPENSSL_cleanse(secret.data(), secret.size());
  return done;
}

}  // namespace

TlsKeys::~TlsKeys() { OPENSSL_cleanse(key.data(), key.size()); }

Result<TlsKeys> derive_tls_keys(const Token& token) {
  const std::string version = std::to_string(kProtocolVersion);
  TlsKeys keys;
  std::array<unsigned char, 16> name{};
  if (!hkdf_sha256(token, "shoal " + version + " tls13 psk", keys.key) ||
      !hkdf_sha256(token, "shoal " + version + " tls13 identity", name))
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
