// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The secret that the tasks of one job share. A task that has it may take part in the job; tcp uses it to encrypt
/// and authenticate.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "shoal/base/result.h"

namespace shoal::transport {

/// 32 random bytes. As text: "shoal1-" and 48 characters of base64url (RFC 4648, section 5, no padding). These encode the
/// 32 bytes and a checksum of 4 bytes, so that typing errors are found. The checksum is the beginning of the XXH3-64 of
/// "shoal1-" and the 32 bytes. A value type, wiped when destroyed.
class Token {
 public:
  static constexpr size_t kBytes = 32;
  static constexpr size_t kTextBytes = 55;

  /// Makes a token from the system's random numbers.
  static Token fresh();
  /// InvalidArgument describes the mistake in `text` without showing any of it. Blanks and line ends around the text are
  /// ignored.
  static Result<Token> parse(std::string_view text);

  Token(const Token&) = default;
  Token& operator=(const Token&) = default;
  ~Token();

  std::string to_text() const;
  std::span<const std::byte, kBytes> secret() const;

 private:
  Token() = default;
  std::array<std::byte, kBytes> secret_;
};

/// The places where a user may specify the job's token.
struct TokenSources {
  std::optional<std::string> file;  ///< The path of a file with the token: --token-file, SHOAL_TOKEN_FILE.
  std::optional<std::string> text;  ///< The token itself: SHOAL_TOKEN.
};
/// Finds the token; null if no source is set. Reads a file of this machine, as find_credential() does. InvalidArgument
/// names the source: a token is malformed, or both sources are set and differ. FailedPrecondition: users other than the
/// file's owner may read it or write to it. NotFound, Unavailable: the file cannot be read.
Result<std::shared_ptr<const Token>> find_token(const TokenSources& sources);

}  // namespace shoal::transport
