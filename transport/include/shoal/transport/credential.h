// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The credential by which a task proves that it belongs to its job.
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "shoal/base/time.h"
#include "shoal/transport/certificate.h"
#include "shoal/transport/token.h"

namespace shoal::transport {

/// A token, which all tasks of the job share, or the task's own certificate.
using Credential = std::variant<Token, Certificate>;

/// The files in a task's folder; `shoal keys task` writes them.
inline constexpr const char* kAuthorityFile = "ca.pem";
inline constexpr const char* kCertificateFile = "task.pem";
inline constexpr const char* kKeyFile = "task.key";

/// The places where a user may specify a task's credential.
struct CredentialSources {
  TokenSources token;
  std::optional<std::string> tls_dir;  ///< The folder with ca.pem, task.pem and task.key: --tls-dir, SHOAL_TLS_DIR.
};
/// Finds the credential; null if no source is set. `now` is the wall clock, with which the certificate's period is
/// compared. Reads files of this machine, so a program calls it at its start and passes the result to its tasks.
/// InvalidArgument: both a token and a certificate are given, or an error of Certificate::parse(). FailedPrecondition:
/// users other than the owner may read the key or write to one of the files, or the certificate is not valid `now`.
/// NotFound, Unavailable: a file cannot be read. For a token: the errors of find_token().
Result<std::shared_ptr<const Credential>> find_credential(const CredentialSources& sources, WallTime now);

/// The two files of a key pair. They are read with the same checks as a task's files.
struct KeyPairFiles {
  std::string certificate, key;  ///< Paths of the files.
};
Result<KeyPair> read_key_pair(const KeyPairFiles& files);

}  // namespace shoal::transport
