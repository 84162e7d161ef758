// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Certificates as they are written: begun, signed, put into PEM.
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

/// RFC 5280 allows 20 bytes. The two highest bits are set by who writes the certificate.
using CertificateSerial = std::array<unsigned char, 16>;
/// Numbers (NID_*) and values as OpenSSL's configuration files have them.
using CertificateExtensions = std::vector<std::pair<int, std::string>>;

/// Everything but issuer, extensions and signature. `key`: may be null, which is an error.
Result<UnsignedCertificate> begin_certificate(const std::string& subject, const Validity& validity,
                                              OpenSslObject<EVP_PKEY> key, const CertificateSerial& serial);
/// False if the library fails.
bool sign_certificate(X509& certificate, X509& issuer, EVP_PKEY& issuer_key, const CertificateExtensions& extensions);
Result<KeyPair> to_pem(const UnsignedCertificate& made);

}  // namespace shoal::transport
