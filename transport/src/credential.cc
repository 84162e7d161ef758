// SPDX-License-Identifier: Apache-2.0
#include "shoal/transport/credential.h"

#include "owned_file.h"
#include "shoal/base/source_date.h"

namespace shoal::transport {
namespace {

constexpr size_t kPemBytesMax = 64 * 1024;

Result<Secret> read_pem(std::string path, std::string what, Others others) {
  return read_owned_file({.path = std::move(path),
                          .what = std::move(what),
                          .bytes_max = kPemBytesMax,
                          .others = others,
                          .remedy = "make a new CA and new certificates if anybody may have read it"});
}

Result<void> check_time(const Validity& validity, std::chrono::sys_seconds now) {
  if (is_before_source(now)) {
    return failed_precondition(
        "the clock of this machine says " + to_utc_text(now) +
        ", which is before this program was built, so the validity of the certificate cannot be checked; set the "
        "clock first, or use a token, which works with any clock");
  }
  if (now < validity.begin)
    return failed_precondition("the certificate is not valid before " + to_utc_text(validity.begin) +
                               "; is the clock of this machine right?");
  if (now > validity.end)
    return failed_precondition("the certificate has expired, on " + to_utc_text(validity.end) +
                               "; make a new one (shoal keys task)");
  return {};
}

Result<Certificate> read_certificate(const std::string& folder, std::chrono::sys_seconds now) {
  SHOAL_TRY(const Secret authorities, read_pem(folder + "/" + kAuthorityFile, "certificates of CAs", Others::kRead));
  SHOAL_TRY(const KeyPair own, read_key_pair({folder + "/" + kCertificateFile, folder + "/" + kKeyFile}));
  auto certificate = Certificate::parse(own, authorities.text());
  if (!certificate) return std::move(certificate).error().with_context(folder);
  if (auto valid = check_time(certificate->validity(), now); !valid) return std::move(valid).error().with_context(folder);
  return certificate;
}

}  // namespace

Result<KeyPair> read_key_pair(const KeyPairFiles& files) {
  SHOAL_TRY(const Secret certificate, read_pem(files.certificate, "certificate", Others::kRead));
  SHOAL_TRY(Secret key, read_pem(files.key, "key", Others::kNothing));
  return KeyPair{certificate.text(), std::move(key)};
}

Result<std::shared_ptr<const Credential>> find_credential(const CredentialSources& sources, WallTime now) {
  if (sources.tls_dir && (sources.token.file || sources.token.text))
    return invalid_argument(std::string("both certificates (--tls-dir, SHOAL_TLS_DIR) and a token (") +
                            (sources.token.file ? "--token-file, SHOAL_TOKEN_FILE" : "SHOAL_TOKEN") +
                            ") are given; a job has one or the other: leave out the token for certificates, or the "
                            "folder for a token");
  if (sources.tls_dir) {
    // The times in certificates are in seconds, since they may lie after 2262, which a 64-bit time in nanoseconds cannot
    // express. So the present time is rounded down to seconds.
    SHOAL_TRY(Certificate certificate, read_certificate(*sources.tls_dir, std::chrono::floor<std::chrono::seconds>(now)));
    return std::make_shared<const Credential>(std::move(certificate));
  }
  SHOAL_TRY(const std::shared_ptr<const Token> token, find_token(sources.token));
  return token ? std::make_shared<const Credential>(*token) : nullptr;
}

}  // namespace shoal::transport
