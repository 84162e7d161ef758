// SPDX-License-Identifier: Apache-2.0
// Reads certificates, by OpenSSL.
#include <openssl/err.h>
#include <openssl/pem.h>

#include <chrono>
#include <ctime>

#include "openssl_objects.h"

namespace shoal::transport {
namespace {

OpenSslObject<BIO> reader_of(std::string_view text) {
  return OpenSslObject<BIO>(BIO_new_mem_buf(text.data(), int(text.size())));
}

template <class T>
std::string to_der(T* object, int (*write)(const T*, unsigned char**)) {
  unsigned char* bytes = nullptr;
  const int size = write(object, &bytes);
  if (size <= 0) return {};
  std::string der(reinterpret_cast<const char*>(bytes), size_t(size));
  OPENSSL_clear_free(bytes, size_t(size));
  return der;
}

/// The URIs among the certificate's alternative names.
std::vector<std::string> uris_of(const X509& certificate) {
  std::vector<std::string> uris;
  const OpenSslObject<GENERAL_NAMES> names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(&certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* const name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type != GEN_URI) continue;
    const ASN1_IA5STRING* const uri = name->d.uniformResourceIdentifier;
    uris.emplace_back(reinterpret_cast<const char*>(ASN1_STRING_get0_data(uri)), size_t(ASN1_STRING_length(uri)));
  }
  return uris;
}

Result<PeerIdentity> owner_of(const X509& certificate) {
  const std::vector<std::string> uris = uris_of(certificate);
  if (uris.size() == 1) {
    if (auto task = parse_task_uri(uris.front())) return task;
  }
  return failed_precondition("names no task (one URI, such as " + to_uri({.role = "worker", .index = 0}) +
                             "); make it with shoal keys task");
}

/// Checks that one of these CAs has signed `certificate`, and that the certificate may be used by clients and by servers. A
/// certificate that has expired is accepted.
Result<void> check_signed(X509& certificate, const std::vector<OpenSslObject<X509>>& authorities) {
  const OpenSslObject<X509_STORE> store(X509_STORE_new());
  const OpenSslObject<X509_STORE_CTX> check(X509_STORE_CTX_new());
  if (!store || !check) return openssl_error("a store of certificates");
  for (const auto& authority : authorities) X509_STORE_add_cert(store.get(), authority.get());
  for (const int purpose : {X509_PURPOSE_SSL_CLIENT, X509_PURPOSE_SSL_SERVER}) {
    if (X509_STORE_CTX_init(check.get(), store.get(), &certificate, nullptr) != 1) return openssl_error("a check");
    X509_STORE_CTX_set_purpose(check.get(), purpose);
    X509_STORE_CTX_set_flags(check.get(), X509_V_FLAG_NO_CHECK_TIME);
    const bool good = X509_verify_cert(check.get()) == 1;
    const int why = X509_STORE_CTX_get_error(check.get());
    X509_STORE_CTX_cleanup(check.get());
    if (good) continue;
    return failed_precondition(why == X509_V_ERR_INVALID_PURPOSE
                                   ? "is not for both sides of a TLS connection; make it with shoal keys task"
                                   : std::string("is not signed by the CA beside it (") +
                                         X509_verify_cert_error_string(why) + "); make it with shoal keys task");
  }
  return {};
}

}  // namespace

std::vector<OpenSslObject<X509>> certificates_in(std::string_view pem) {
  std::vector<OpenSslObject<X509>> found;
  const auto reader = reader_of(pem);
  while (reader) {
    OpenSslObject<X509> next(PEM_read_bio_X509(reader.get(), nullptr, nullptr, nullptr));
    if (!next) break;
    found.push_back(std::move(next));
  }
  ERR_clear_error();  // OpenSSL reports the end of the text as an error.
  return found;
}

OpenSslObject<EVP_PKEY> key_in(std::string_view pem) {
  const auto reader = reader_of(pem);
  const auto no_password = [](char*, int, int, void*) { return -1; };  // By default OpenSSL would ask at the terminal.
  OpenSslObject<EVP_PKEY> key(reader ? PEM_read_bio_PrivateKey(reader.get(), nullptr, no_password, nullptr) : nullptr);
  ERR_clear_error();
  return key;
}

std::optional<std::chrono::sys_seconds> to_time(const ASN1_TIME* time) {
  using namespace std::chrono;
  std::tm parts{};
  if (!time || ASN1_TIME_to_tm(time, &parts) != 1) return std::nullopt;
  const sys_days day(year(parts.tm_year + 1900) / month(unsigned(parts.tm_mon) + 1) /
                     std::chrono::day(unsigned(parts.tm_mday)));
  return day + hours(parts.tm_hour) + minutes(parts.tm_min) + seconds(parts.tm_sec);
}

Error openssl_error(std::string_view what) {
  const unsigned long code = ERR_get_error();
  const char* const text = ERR_reason_error_string(code);
  return internal_error("OpenSSL fails at " + std::string(what) + ": " +
                        (text ? std::string(text) : "error " + std::to_string(code)));
}

Result<Certificate> Certificate::parse(const KeyPair& own, std::string_view authorities) {
  const auto believed = certificates_in(authorities);
  if (believed.empty()) return invalid_argument("the CA's certificate: the file contains none in PEM");
  const auto chain = certificates_in(own.certificate);
  if (chain.size() != 1)
    return invalid_argument("the certificate: the file contains " + std::to_string(chain.size()) +
                            " in PEM, but must contain one");
  X509& certificate = *chain.front();
  const auto key = key_in(own.key.text());
  if (!key) return invalid_argument("the key: the file contains none in PEM, or it has a password");
  if (X509_check_private_key(&certificate, key.get()) != 1) {
    ERR_clear_error();
    return invalid_argument("the key belongs to another certificate");
  }
  Certificate made;
  auto owner = owner_of(certificate);
  if (!owner) return std::move(owner).error().with_context("the certificate");
  made.owner_ = std::move(*owner);
  if (auto good = check_signed(certificate, believed); !good)
    return std::move(good).error().with_context("the certificate");
  const auto begin = to_time(X509_get0_notBefore(&certificate)), end = to_time(X509_get0_notAfter(&certificate));
  if (!begin || !end) return invalid_argument("the certificate: its times are malformed");
  made.validity_ = {*begin, *end};
  made.certificate_ = to_der<X509>(&certificate, i2d_X509);
  made.key_ = Secret(to_der<EVP_PKEY>(key.get(), i2d_PrivateKey));
  for (const auto& authority : believed) made.authorities_.push_back(to_der<X509>(authority.get(), i2d_X509));
  return made;
}

Result<PeerIdentity> owner_of_certificate(std::string_view der) {
  auto bytes = reinterpret_cast<const unsigned char*>(der.data());
  const OpenSslObject<X509> certificate(d2i_X509(nullptr, &bytes, long(der.size())));
  if (certificate) return owner_of(*certificate);
  ERR_clear_error();
  return failed_precondition("is no certificate");
}

}  // namespace shoal::transport
