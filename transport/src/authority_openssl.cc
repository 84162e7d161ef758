// SPDX-License-Identifier: Apache-2.0
// Makes a CA, and certificates of tasks and of monitoring systems, by OpenSSL.
#include <openssl/rand.h>

#include <algorithm>
#include <cstdio>
#include <optional>

#include "certificate_writer.h"
#include "shoal/transport/authority.h"
#include "shoal/transport/scrape_access.h"

namespace shoal::transport {
namespace {

/// Serial numbers are random, so that a CA need not store the last number.
Result<UnsignedCertificate> begin_with_fresh_key(const std::string& subject, const Validity& validity) {
  CertificateSerial serial;
  if (RAND_bytes(serial.data(), int(serial.size())) != 1) return openssl_error("a serial number");
  return begin_certificate(subject, validity, OpenSslObject<EVP_PKEY>(EVP_EC_gen("P-256")), serial);
}

std::string random_name() {
  unsigned char bytes[4];
  char text[16];
  if (RAND_bytes(bytes, sizeof bytes) != 1) return {};
  std::snprintf(text, sizeof text, "%02x%02x%02x%02x", bytes[0], bytes[1], bytes[2], bytes[3]);
  return text;
}

/// A CA that signs.
struct Issuer {
  OpenSslObject<X509> certificate;
  OpenSslObject<EVP_PKEY> key;
  std::optional<std::chrono::sys_seconds> last;  ///< When the CA's certificate ends, if that can be read.
};

Result<Issuer> issuer_of(const KeyPair& authority) {
  auto certificates = certificates_in(authority.certificate);
  if (certificates.size() != 1) return invalid_argument("the CA's certificate: the file must contain exactly one in PEM");
  Issuer issuer{.certificate = std::move(certificates.front()), .key = key_in(authority.key.text()), .last = {}};
  if (!issuer.key) return invalid_argument("the CA's key: the file contains none in PEM, or it has a password");
  if (X509_check_private_key(issuer.certificate.get(), issuer.key.get()) != 1)
    return invalid_argument("the CA's key belongs to another certificate");
  if (X509_check_ca(issuer.certificate.get()) != 1) return failed_precondition("the CA's certificate is not one of a CA");
  issuer.last = to_time(X509_get0_notAfter(issuer.certificate.get()));
  return issuer;
}

Validity validity_within(const Issuer& issuer, const Validity& validity) {
  return {validity.begin, std::min(validity.end, issuer.last.value_or(validity.end))};
}

/// Makes a fresh key, and a certificate for it that `issuer` signs. The certificate is no CA: it cannot sign others.
Result<KeyPair> signed_by(const Issuer& issuer, const std::string& subject, const Validity& validity,
                          const CertificateExtensions& more) {
  if (!issuer.last || *issuer.last <= validity.begin)
    return failed_precondition("the CA's certificate has expired" +
                               (issuer.last ? ", on " + to_utc_text(*issuer.last) : std::string()) +
                               "; make a new CA (shoal keys ca)");
  SHOAL_TRY(const UnsignedCertificate made, begin_with_fresh_key(subject, validity_within(issuer, validity)));
  CertificateExtensions extensions{{NID_basic_constraints, "critical,CA:FALSE"},
                                   {NID_key_usage, "critical,digitalSignature"},
                                   {NID_subject_key_identifier, "hash"},
                                   {NID_authority_key_identifier, "keyid"}};
  extensions.insert(extensions.end(), more.begin(), more.end());
  if (!sign_certificate(*made.certificate, *issuer.certificate, *issuer.key, extensions))
    return openssl_error("signing a certificate");
  return to_pem(made);
}

}  // namespace

Result<KeyPair> make_authority(const Validity& validity) {
  // Each CA gets a unique name, by which OpenSSL finds the CA of a certificate.
  SHOAL_TRY(const UnsignedCertificate made, begin_with_fresh_key("cluster CA " + random_name(), validity));
  X509& certificate = *made.certificate;
  if (!sign_certificate(certificate, certificate, *made.key,
                        {{NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
                         {NID_key_usage, "critical,keyCertSign,cRLSign"},
                         {NID_subject_key_identifier, "hash"}}))
    return openssl_error("signing a certificate");
  return to_pem(made);
}

Result<KeyPair> make_task_certificate(const KeyPair& authority, const PeerIdentity& task, const Validity& validity) {
  SHOAL_TRY_VOID(parse_task_uri(to_uri(task)));
  SHOAL_TRY(const Issuer issuer, issuer_of(authority));
  return signed_by(issuer, to_string(task), validity,
                   {{NID_ext_key_usage, "clientAuth,serverAuth"},
                    {NID_subject_alt_name, "URI:" + to_uri(task) + ",DNS:" + kScrapeServerName}});
}

Result<WatcherCertificate> make_watcher_certificate(const KeyPair& authority, const Validity& validity) {
  SHOAL_TRY(const Issuer issuer, issuer_of(authority));
  SHOAL_TRY(KeyPair own, signed_by(issuer, "watcher", validity, {{NID_ext_key_usage, "clientAuth"}}));
  return WatcherCertificate{.own = std::move(own), .validity = validity_within(issuer, validity)};
}

}  // namespace shoal::transport
