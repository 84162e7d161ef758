// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Owners for OpenSSL's objects, and functions that read certificates and keys in PEM.
#include <openssl/asn1.h>
#include <openssl/bn.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <optional>
#include <vector>

#include "shoal/transport/certificate.h"

namespace shoal::transport {

struct FreeOpenSslObject {
  void operator()(ASN1_TIME* time) const { ASN1_TIME_free(time); }
  void operator()(BIGNUM* number) const { BN_free(number); }
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(GENERAL_NAMES* names) const { GENERAL_NAMES_free(names); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(X509_EXTENSION* extension) const { X509_EXTENSION_free(extension); }
  void operator()(X509_STORE* store) const { X509_STORE_free(store); }
  void operator()(X509_STORE_CTX* check) const { X509_STORE_CTX_free(check); }
};
template <class T>
using OpenSslObject = std::unique_ptr<T, FreeOpenSslObject>;

/// All certificates in a PEM text, in order.
std::vector<OpenSslObject<X509>> certificates_in(std::string_view pem);
/// The first private key in a PEM text. Null if there is none, or if it needs a password, since no user can enter one.
OpenSslObject<EVP_PKEY> key_in(std::string_view pem);
/// Converts a time; nothing if `time` is null or malformed.
std::optional<std::chrono::sys_seconds> to_time(const ASN1_TIME* time);
/// The error for a call of OpenSSL that fails only if memory has run out or OpenSSL is broken.
Error openssl_error(std::string_view what);

}  // namespace shoal::transport
