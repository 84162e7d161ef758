// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Writes certificates in three steps: begins one, signs it, converts it to PEM.
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "openssl_objects.h"

namespace shoal::transport {

struct UnsignedCertificate {
  OpenSslObject<X509> certificate;
  OpenSslObject<EVP_PKEY> key;
};

/// RFC 5280 allows up to 20 bytes. begin_certificate() sets the two highest bits itself.
using CertificateSerial = std::array<unsigned char, 16>;
/// Pairs of an extension's number (NID_*) and its value in the syntax of OpenSSL's configuration files.
using CertificateExtensions = std::vector<std::pair<int, std::string>>;

/// Makes a certificate that lacks only issuer, extensions and signature. A null `key` gives an error.
Result<UnsignedCertificate> begin_certificate(const std::string& subject, const Validity& validity,
                                              OpenSslObject<EVP_PKEY> key, const CertificateSerial& serial);
/// False if OpenSSL fails.
bool sign_certificate(X509& certificate, X509& issuer, EVP_PKEY& issuer_key, const CertificateExtensions& extensions);
Result<KeyPair> to_pem(const UnsignedCertificate& made);

}  // namespace shoal::transport
