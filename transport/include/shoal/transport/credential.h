// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What a task proves with that it belongs to its job.
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "shoal/base/time.h"
#include "shoal/transport/certificate.h"
#include "shoal/transport/token.h"

namespace shoal::transport {

/// A token, which all tasks of the job share, or a certificate of the task's own.
using Credential = std::variant<Token, Certificate>;

/// The files of a task in its folder; `shoal keys task` writes them.
inline constexpr const char* kAuthorityFile = "ca.pem";
inline constexpr const char* kCertificateFile = "task.pem";
inline constexpr const char* kKeyFile = "task.key";

/// Where a task may be told its credential.
struct CredentialSources {
  TokenSources token;
  std::optional<std::string> tls_dir;  ///< A folder: --tls-dir, SHOAL_TLS_DIR.
};
/// The credential; null if no source is there. `now`: the wall clock, which the certificate's times are compared with.
/// Reads files of this machine, so programs call it where they begin, and tasks are handed what it found.
/// InvalidArgument: a token and a certificate; or as Certificate::parse(). FailedPrecondition: others than its owner
/// may read the key, or write to one of the files; the certificate is not valid `now`. NotFound, Unavailable: a file
/// cannot be read. For a token: the errors of find_token().
Result<std::shared_ptr<const Credential>> find_credential(const CredentialSources& sources, WallTime now);

/// The two files of a key pair, read as those of a task are.
struct KeyPairFiles {
  std::string certificate, key;  ///< Paths of the files.
};
Result<KeyPair> read_key_pair(const KeyPairFiles& files);

}  // namespace shoal::transport
