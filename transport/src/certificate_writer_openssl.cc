// SPDX-License-Identifier: Apache-2.0
// Making certificates, by OpenSSL.
#include "certificate_writer.h"

#include <openssl/pem.h>

namespace shoal::transport {
namespace {

constexpr const char* kOrganization = "Shoal";

bool add_name(X509_NAME& name, const char* field, const std::string& value) {
  return X509_NAME_add_entry_by_txt(&name, field, MBSTRING_ASC, reinterpret_cast<const unsigned char*>(value.data()),
                                    int(value.size()), -1, 0) == 1;
}

OpenSslObject<ASN1_TIME> to_asn1(std::chrono::sys_seconds time) {
  std::string digits;  // Turns "2026-11-22 14:05:00 UTC" into 20261122140500Z.
  for (const char c : to_utc_text(time)) {
    if (c >= '0' && c <= '9') digits += c;
  }
  OpenSslObject<ASN1_TIME> made(ASN1_TIME_new());
  if (made && ASN1_TIME_set_string_X509(made.get(), (digits + "Z").c_str()) != 1) made.reset();
  return made;
}

bool add_extension(X509& certificate, X509& issuer, int what, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, &issuer, &certificate, nullptr, nullptr, 0);
  const OpenSslObject<X509_EXTENSION> extension(X509V3_EXT_conf_nid(nullptr, &context, what, value.c_str()));
  return extension && X509_add_ext(&certificate, extension.get(), -1) == 1;
}

bool set_serial(X509& certificate, CertificateSerial bytes) {
  bytes[0] = (bytes[0] & 0x7f) | 0x40;  // Makes the number positive, with all 16 bytes in use.
  const OpenSslObject<BIGNUM> number(BN_bin2bn(bytes.data(), int(bytes.size()), nullptr));
  return number && BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(&certificate)) != nullptr;
}

}  // namespace

Result<UnsignedCertificate> begin_certificate(const std::string& subject, const Validity& validity,
                                              OpenSslObject<EVP_PKEY> key, const CertificateSerial& serial) {
  UnsignedCertificate made{OpenSslObject<X509>(X509_new()), std::move(key)};
  if (!made.certificate || !made.key) return openssl_error("a key");
  X509& certificate = *made.certificate;
  const auto from = to_asn1(validity.begin), until = to_asn1(validity.end);
  if (!from || !until || X509_set_version(&certificate, X509_VERSION_3) != 1 || !set_serial(certificate, serial) ||
      X509_set1_notBefore(&certificate, from.get()) != 1 || X509_set1_notAfter(&certificate, until.get()) != 1 ||
      X509_set_pubkey(&certificate, made.key.get()) != 1 ||
      !add_name(*X509_get_subject_name(&certificate), "O", kOrganization) ||
      !add_name(*X509_get_subject_name(&certificate), "CN", subject))
    return openssl_error("a certificate");
  return made;
}

bool sign_certificate(X509& certificate, X509& issuer, EVP_PKEY& issuer_key, const CertificateExtensions& extensions) {
  if (X509_set_issuer_name(&certificate, X509_get_subject_name(&issuer)) != 1) return false;
  for (const auto& [what, value] : extensions) {
    if (!add_extension(certificate, issuer, what, value)) return false;
  }
  // Ed25519 includes a digest, so OpenSSL accepts none for such keys.
  const EVP_MD* const digest =
      EVP_PKEY_is_a(&issuer_key, "EC") || EVP_PKEY_is_a(&issuer_key, "RSA") ? EVP_sha256() : nullptr;
  return X509_sign(&certificate, &issuer_key, digest) > 0;
}

Result<KeyPair> to_pem(const UnsignedCertificate& made) {
  const auto text = [](BIO* bio) {
    char* data = nullptr;
    const long size = BIO_get_mem_data(bio, &data);
    return std::string(data, size_t(size));
  };
  const OpenSslObject<BIO> certificate(BIO_new(BIO_s_mem())), key(BIO_new(BIO_s_secmem()));
  if (!certificate || !key || PEM_write_bio_X509(certificate.get(), made.certificate.get()) != 1 ||
      PEM_write_bio_PrivateKey(key.get(), made.key.get(), nullptr, nullptr, 0, nullptr, nullptr) != 1)
    return openssl_error("writing PEM");
  return KeyPair{text(certificate.get()), Secret(text(key.get()))};
}

}  // namespace shoal::transport
