// SPDX-License-Identifier: Apache-2.0
#include "tls_certificates.h"

#include <openssl/x509.h>

#include <algorithm>
#include <memory>

namespace shoal::transport::tcp {
namespace {

struct FreeDecoded {
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};

std::unique_ptr<X509, FreeDecoded> decode_certificate(const std::string& der) {
  auto bytes = reinterpret_cast<const unsigned char*>(der.data());
  return std::unique_ptr<X509, FreeDecoded>(d2i_X509(nullptr, &bytes, long(der.size())));
}

constexpr const char* kOneCa = "; make the certificates of all tasks with one CA (shoal keys task --ca)";
constexpr const char* kNewOne = "; make a new one (shoal keys task)";
constexpr const char* kClocks = "; are the clocks of both machines right?";

}  // namespace

bool use_certificate(SSL_CTX& context, const Certificate& certificate) {
  const auto own = decode_certificate(certificate.certificate());
  auto bytes = reinterpret_cast<const unsigned char*>(certificate.key().data());
  const std::unique_ptr<EVP_PKEY, FreeDecoded> key(d2i_AutoPrivateKey(nullptr, &bytes, long(certificate.key().size())));
  if (!own || !key || SSL_CTX_use_certificate(&context, own.get()) != 1 || SSL_CTX_use_PrivateKey(&context, key.get()) != 1)
    return false;
  X509_STORE* const believed = SSL_CTX_get_cert_store(&context);
  for (const std::string& der : certificate.authorities()) {
    const auto authority = decode_certificate(der);
    if (!authority || X509_STORE_add_cert(believed, authority.get()) != 1) return false;
  }
  return true;
}

Result<PeerIdentity> owner_of(X509& certificate) {
  unsigned char* bytes = nullptr;
  const int size = i2d_X509(&certificate, &bytes);
  const std::string der(reinterpret_cast<const char*>(bytes), size_t(std::max(size, 0)));
  OPENSSL_free(bytes);
  return owner_of_certificate(der);
}

std::string why_refused(int error, int depth) {
  const std::string whose = depth == 0 ? "its certificate " : "the CA of its certificate ";
  switch (error) {
    case X509_V_ERR_CERT_HAS_EXPIRED: return whose + "has expired" + kNewOne;
    case X509_V_ERR_CERT_NOT_YET_VALID: return whose + "is not valid yet" + kClocks;
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT: return whose + "is signed by itself only" + kOneCa;
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return "its certificate is not from a CA that this task trusts (ca.pem)" + std::string(kOneCa);
    case X509_V_ERR_INVALID_PURPOSE: return whose + "is for another use than this" + kNewOne;
    case X509_V_ERR_INVALID_CA: return "its certificate is signed by a certificate that is not a CA" + std::string(kOneCa);
    default: return whose + "is refused (" + X509_verify_cert_error_string(error) + ")" + kNewOne;
  }
}

std::string why_unexpected(const PeerIdentity& owner, const PeerIdentity& expected) {
  return "its certificate names " + to_string(owner) + ", but " + to_string(expected) +
         " is expected there; give each task its own certificate (--tls-dir)";
}

std::optional<std::string> why_it_refuses(int alert) {
  const std::string whose = "it refuses this task's certificate: ";
  switch (alert) {
    case SSL_AD_CERTIFICATE_EXPIRED: return whose + "it, or its CA, has expired" + kNewOne;
    case SSL_AD_BAD_CERTIFICATE: return whose + "it is bad, or not valid yet" + kClocks;
    case SSL_AD_UNKNOWN_CA:
    case SSL_AD_DECRYPT_ERROR:
      return whose + "it trusts another CA, or has a token" + kOneCa + ", or give all of them one token";
    case SSL_AD_UNSUPPORTED_CERTIFICATE: return whose + "it is for another use, or names no task" + kNewOne;
    case SSL_AD_CERTIFICATE_REVOKED:
    case SSL_AD_CERTIFICATE_UNKNOWN:
    case SSL_AD_ACCESS_DENIED: return whose + "it is not accepted" + kNewOne;
    case SSL_AD_HANDSHAKE_FAILURE: return whose + "another task is expected here; give each task its own (--tls-dir)";
    default: return std::nullopt;
  }
}

}  // namespace shoal::transport::tcp
