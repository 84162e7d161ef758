// SPDX-License-Identifier: Apache-2.0
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

#include <memory>
#include <vector>

#include "hkdf.h"

namespace shoal::transport {
namespace {

struct FreeKdf {
  void operator()(EVP_KDF* kdf) const { EVP_KDF_free(kdf); }
  void operator()(EVP_KDF_CTX* context) const { EVP_KDF_CTX_free(context); }
};

}  // namespace

bool hkdf_sha256(const HkdfInput& input, std::span<unsigned char> out) {
  const std::unique_ptr<EVP_KDF, FreeKdf> kdf(EVP_KDF_fetch(nullptr, "HKDF", nullptr));
  if (!kdf) return false;
  const std::unique_ptr<EVP_KDF_CTX, FreeKdf> context(EVP_KDF_CTX_new(kdf.get()));
  if (!context) return false;
  // OpenSSL's interface takes no pointers to const.
  std::vector<std::byte> secret(input.secret.begin(), input.secret.end()), salt(input.salt.begin(), input.salt.end());
  std::string info = input.info;
  char digest[] = "SHA256";
  std::vector<OSSL_PARAM> parameters{OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
                                     OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, secret.data(), secret.size()),
                                     OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, info.data(), info.size())};
  if (!salt.empty()) {
    parameters.push_back(OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, salt.data(), salt.size()));
  }
  parameters.push_back(OSSL_PARAM_construct_end());
  const bool done = EVP_KDF_derive(context.get(), out.data(), out.size(), parameters.data()) == 1;
  OPENSSL_cleanse(secret.data(), secret.size());
  return done;
}

}  // namespace shoal::transport
