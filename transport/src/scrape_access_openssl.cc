// SPDX-License-Identifier: Apache-2.0
#include "shoal/transport/scrape_access.h"

#include <openssl/crypto.h>
#include <openssl/pem.h>

#include <chrono>

#include "certificate_writer.h"
#include "hkdf.h"
#include "shoal/base/base64.h"

namespace shoal::transport {
namespace {

constexpr const char* kPurpose = "shoal metrics v1";

/// Bytes of a secret. The destructor overwrites them, so that they do not stay in memory.
template <size_t kBytes>
struct WipedBytes {
  std::array<unsigned char, kBytes> bytes{};
  WipedBytes() = default;
  WipedBytes(const WipedBytes&) = delete;
  WipedBytes& operator=(const WipedBytes&) = delete;
  ~WipedBytes() { OPENSSL_cleanse(bytes.data(), bytes.size()); }
};

std::string_view text_of_key(const std::array<unsigned char, 32>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Makes a self-signed certificate. Ed25519 signs without random numbers, so all tasks of a job make the same one.
Result<KeyPair> self_signed(std::span<const unsigned char, 32> secret, const CertificateSerial& serial) {
  using namespace std::chrono;
  constexpr sys_days kBegin = year(2020) / January / 1,
                     kEnd = year(9999) / December / 31;  // RFC 5280, 4.1.2.5: the date that means no end.
  OpenSslObject<EVP_PKEY> key(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, secret.data(), secret.size()));
  SHOAL_TRY(const UnsignedCertificate made,
            begin_certificate("metrics of a job", {kBegin, kEnd + hours(24) - seconds(1)}, std::move(key), serial));
  if (!sign_certificate(*made.certificate, *made.certificate, *made.key,
                        {{NID_basic_constraints, "critical,CA:FALSE"},
                         {NID_key_usage, "critical,digitalSignature"},
                         {NID_ext_key_usage, "serverAuth"},
                         {NID_subject_alt_name, std::string("DNS:") + kScrapeServerName}}))
    return openssl_error("signing a certificate");
  return to_pem(made);
}

Result<ScrapeAccess> access_by(const Token& token) {
  WipedBytes<32> bearer, key;
  CertificateSerial serial;
  const std::string purpose = kPurpose;
  if (!hkdf_sha256({.secret = token.secret(), .info = purpose}, bearer.bytes) ||
      !hkdf_sha256({.secret = token.secret(), .info = purpose + " key"}, key.bytes) ||
      !hkdf_sha256({.secret = token.secret(), .info = purpose + " serial"}, serial))
    return internal_error("OpenSSL has no HKDF-SHA256");
  SHOAL_TRY(KeyPair own, self_signed(key.bytes, serial));
  return ScrapeAccess{.own = std::move(own),
                      .bearer = Secret("shoal-metrics-" + to_base64(text_of_key(bearer.bytes), Base64::kUrl)),
                      .authorities = {}};
}

Result<std::string> certificate_pem(const std::string& der) {
  auto bytes = reinterpret_cast<const unsigned char*>(der.data());
  const OpenSslObject<X509> certificate(d2i_X509(nullptr, &bytes, long(der.size())));
  const OpenSslObject<BIO> text(BIO_new(BIO_s_mem()));
  if (!certificate || !text || PEM_write_bio_X509(text.get(), certificate.get()) != 1) return openssl_error("writing PEM");
  char* data = nullptr;
  const long size = BIO_get_mem_data(text.get(), &data);
  return std::string(data, size_t(size));
}

Result<ScrapeAccess> access_by(const Certificate& certificate) {
  auto bytes = reinterpret_cast<const unsigned char*>(certificate.key().data());
  const OpenSslObject<EVP_PKEY> key(d2i_AutoPrivateKey(nullptr, &bytes, long(certificate.key().size())));
  const OpenSslObject<BIO> text(BIO_new(BIO_s_secmem()));
  if (!key || !text || PEM_write_bio_PrivateKey(text.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) != 1)
    return openssl_error("writing PEM");
  char* data = nullptr;
  const long size = BIO_get_mem_data(text.get(), &data);
  ScrapeAccess access{
      .own = {.certificate = {}, .key = Secret(std::string(data, size_t(size)))}, .bearer = Secret(), .authorities = {}};
  SHOAL_TRY(access.own.certificate, certificate_pem(certificate.certificate()));
  for (const std::string& authority : certificate.authorities()) {
    SHOAL_TRY(const std::string pem, certificate_pem(authority));
    access.authorities += pem;
  }
  return access;
}

}  // namespace

Result<ScrapeAccess> scrape_access(const Credential& credential) {
  return std::visit([](const auto& is) { return access_by(is); }, credential);
}

}  // namespace shoal::transport
