// SPDX-License-Identifier: Apache-2.0
// Making certificates, by OpenSSL.
#include <openssl/pem.h>
#include <openssl/rand.h>

#include <algorithm>
#include <cstdio>

#include "openssl_objects.h"
#include "shoal/transport/authority.h"

namespace shoal::transport {
namespace {

constexpr const char* kOrganization = "Shoal";
constexpr int kSerialBytes = 16;  // RFC 5280 allows 20. They are random, so that no CA has to remember the last.

bool add_name(X509_NAME& name, const char* field, const std::string& value) {
  return X509_NAME_add_entry_by_txt(&name, field, MBSTRING_ASC, reinterpret_cast<const unsigned char*>(value.data()),
                                    int(value.size()), -1, 0) == 1;
}

bool set_serial(X509& certificate) {
  unsigned char bytes[kSerialBytes];
  if (RAND_bytes(bytes, kSerialBytes) != 1) return false;
  bytes[0] = (bytes[0] & 0x7f) | 0x40;  // The number is positive, and has that many bytes.
  const OpenSslObject<BIGNUM> number(BN_bin2bn(bytes, kSerialBytes, nullptr));
  return number && BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(&certificate)) != nullptr;
}

OpenSslObject<ASN1_TIME> to_asn1(std::chrono::sys_seconds time) {
  std::string digits;  // From "2026-11-22 14:05:00 UTC" comes 20261122140500Z.
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

struct Unsigned {
  OpenSslObject<X509> certificate;
  OpenSslObject<EVP_PKEY> key;
};

/// Everything but issuer, extensions and signature.
Result<Unsigned> begin_certificate(const std::string& subject, const Validity& validity) {
  Unsigned made{OpenSslObject<X509>(X509_new()), OpenSslObject<EVP_PKEY>(EVP_EC_gen("P-256"))};
  if (!made.certificate || !made.key) return openssl_error("a fresh key");
  X509& certificate = *made.certificate;
  const auto from = to_asn1(validity.begin), until = to_asn1(validity.end);
  if (!from || !until || X509_set_version(&certificate, X509_VERSION_3) != 1 || !set_serial(certificate) ||
      X509_set1_notBefore(&certificate, from.get()) != 1 || X509_set1_notAfter(&certificate, until.get()) != 1 ||
      X509_set_pubkey(&certificate, made.key.get()) != 1 ||
      !add_name(*X509_get_subject_name(&certificate), "O", kOrganization) ||
      !add_name(*X509_get_subject_name(&certificate), "CN", subject))
    return openssl_error("a certificate");
  return made;
}

using Extensions = std::vector<std::pair<int, std::string>>;

bool sign(X509& certificate, X509& issuer, EVP_PKEY& issuer_key, const Extensions& extensions) {
  if (X509_set_issuer_name(&certificate, X509_get_subject_name(&issuer)) != 1) return false;
  for (const auto& [what, value] : extensions) {
    if (!add_extension(certificate, issuer, what, value)) return false;
  }
  // Keys that sign by a digest of their own (Ed25519) take none.
  const EVP_MD* const digest =
      EVP_PKEY_is_a(&issuer_key, "EC") || EVP_PKEY_is_a(&issuer_key, "RSA") ? EVP_sha256() : nullptr;
  return X509_sign(&certificate, &issuer_key, digest) > 0;
}

Result<KeyPair> to_pem(const Unsigned& made) {
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

std::string random_name() {
  unsigned char bytes[4];
  char text[16];
  if (RAND_bytes(bytes, sizeof bytes) != 1) return {};
  std::snprintf(text, sizeof text, "%02x%02x%02x%02x", bytes[0], bytes[1], bytes[2], bytes[3]);
  return text;
}

}  // namespace

Result<KeyPair> make_authority(const Validity& validity) {
  // A name of its own: which CA a certificate is of is looked up by that.
  SHOAL_TRY(const Unsigned made, begin_certificate("cluster CA " + random_name(), validity));
  X509& certificate = *made.certificate;
  if (!sign(certificate, certificate, *made.key,
            {{NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
             {NID_key_usage, "critical,keyCertSign,cRLSign"},
             {NID_subject_key_identifier, "hash"}}))
    return openssl_error("signing a certificate");
  return to_pem(made);
}

Result<KeyPair> make_task_certificate(const KeyPair& authority, const PeerIdentity& task, const Validity& validity) {
  SHOAL_TRY_VOID(parse_task_uri(to_uri(task)));
  const auto issuers = certificates_in(authority.certificate);
  if (issuers.size() != 1) return invalid_argument("the CA's certificate: there is not one in PEM");
  X509& issuer = *issuers.front();
  const auto issuer_key = key_in(authority.key.text());
  if (!issuer_key) return invalid_argument("the CA's key: there is none in PEM, or it has a password");
  if (X509_check_private_key(&issuer, issuer_key.get()) != 1)
    return invalid_argument("the CA's key belongs to another certificate");
  if (X509_check_ca(&issuer) != 1) return failed_precondition("the CA's certificate is not one of a CA");
  const auto last = to_time(X509_get0_notAfter(&issuer));
  if (!last || *last <= validity.begin)
    return failed_precondition("the CA's certificate has expired" + (last ? ", on " + to_utc_text(*last) : std::string()) +
                               "; make a new CA (shoal keys ca)");
  SHOAL_TRY(const Unsigned made, begin_certificate(to_string(task), {validity.begin, std::min(validity.end, *last)}));
  if (!sign(*made.certificate, issuer, *issuer_key,
            {{NID_basic_constraints, "critical,CA:FALSE"},
             {NID_key_usage, "critical,digitalSignature"},
             {NID_ext_key_usage, "clientAuth,serverAuth"},
             {NID_subject_key_identifier, "hash"},
             {NID_authority_key_identifier, "keyid"},
             {NID_subject_alt_name, "URI:" + to_uri(task)}}))
    return openssl_error("signing a certificate");
  return to_pem(made);
}

}  // namespace shoal::transport
