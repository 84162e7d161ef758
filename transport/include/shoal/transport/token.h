// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The secret that the tasks of one job share. Whoever holds it may take part; tcp encrypts and authenticates with it.
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

/// 32 random bytes. As text "shoal1-" and 48 characters of base64url (RFC 4648, section 5, no padding): the bytes, and the
/// first 4 of the XXH3-64 of "shoal1-" and them, by which a typing error is found. A value; wiped when it is destroyed.
class Token {
 public:
  static constexpr size_t kBytes = 32;
  static constexpr size_t kTextBytes = 55;

  /// Makes one from the system's randomness.
  static Token fresh();
  /// InvalidArgument saying what is wrong with `text`, without showing any of it. Blanks and line ends around it are let
  /// go.
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

/// Where a task may be told its job's token.
struct TokenSources {
  std::optional<std::string> file;  ///< A path: --token-file, SHOAL_TOKEN_FILE.
  std::optional<std::string> text;  ///< The token itself: SHOAL_TOKEN.
};
/// The token; null if no source is there. Reads a file of this machine, as find_credential() does. InvalidArgument,
/// naming the source: malformed, or both are there and differ. FailedPrecondition: others than the file's owner may
/// read it or write to it. NotFound, Unavailable: it cannot be read.
Result<std::shared_ptr<const Token>> find_token(const TokenSources& sources);

}  // namespace shoal::transport
