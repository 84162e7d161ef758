// SPDX-License-Identifier: Apache-2.0
#include "shoal/transport/token.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <sys/random.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "shoal/base/base64.h"
#include "shoal/base/check.h"

namespace shoal::transport {
namespace {

constexpr std::string_view kPrefix = "shoal1-";
constexpr size_t kChecksumBytes = 4;

/// The decoded bytes of a token's text: the secret, then its checksum. Wiped when destroyed.
struct Packed {
  explicit Packed(std::string from) : bytes(std::move(from)) {}
  ~Packed() { explicit_bzero(bytes.data(), bytes.size()); }
  Packed(const Packed&) = delete;
  Packed& operator=(const Packed&) = delete;
  std::string bytes;
};

std::array<uint8_t, kChecksumBytes> checksum_of(std::span<const std::byte, Token::kBytes> secret) {
  std::array<std::byte, kPrefix.size() + Token::kBytes> bytes;
  std::memcpy(bytes.data(), kPrefix.data(), kPrefix.size());
  std::memcpy(bytes.data() + kPrefix.size(), secret.data(), secret.size());
  const uint64_t hash = XXH3_64bits(bytes.data(), bytes.size());
  explicit_bzero(bytes.data(), bytes.size());
  std::array<uint8_t, kChecksumBytes> first;
  for (size_t i = 0; i < kChecksumBytes; ++i) first[i] = uint8_t(hash >> (8 * i));
  return first;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

Error malformed(const std::string& what) {
  return invalid_argument("no token: " + what + "; a token is the whole line that `shoal keys token` prints: " +
                          std::string(kPrefix) + " and 48 characters more");
}

}  // namespace

Token Token::fresh() {
  Token token;
  // getrandom() waits until the system has gathered randomness after booting. If up to 256 bytes are requested, it returns
  // either all of them or an error.
  ssize_t got = -1;
  do {
    got = ::getrandom(token.secret_.data(), token.secret_.size(), 0);
  } while (got < 0 && errno == EINTR);
  SHOAL_CHECK(got == ssize_t(token.secret_.size()));
  return token;
}

Result<Token> Token::parse(std::string_view text) {
  text = trimmed(text);
  if (text.empty()) return malformed("it is empty");
  if (!text.starts_with(kPrefix)) return malformed("it does not begin with " + std::string(kPrefix));
  if (text.size() != kTextBytes) return malformed("it has " + std::to_string(text.size()) + " characters");
  const std::string_view letters = text.substr(kPrefix.size());
  if (const size_t at = letters.find_first_not_of(base64_letters(Base64::kUrl)); at != std::string_view::npos)
    return malformed("character " + std::to_string(kPrefix.size() + at + 1) + " does not occur in tokens");
  const Packed packed(from_base64(letters, Base64::kUrl).value());
  Token token;
  std::memcpy(token.secret_.data(), packed.bytes.data(), kBytes);
  const auto checksum = checksum_of(token.secret_);
  if (std::memcmp(checksum.data(), packed.bytes.data() + kBytes, checksum.size()) != 0)
    return malformed("its checksum differs, so at least one character is wrong");
  return token;
}

Token::~Token() { explicit_bzero(secret_.data(), secret_.size()); }

std::string Token::to_text() const {
  Packed packed(std::string(kBytes + kChecksumBytes, '\0'));
  const auto checksum = checksum_of(secret_);
  std::memcpy(packed.bytes.data(), secret_.data(), kBytes);
  std::memcpy(packed.bytes.data() + kBytes, checksum.data(), checksum.size());
  return std::string(kPrefix) + to_base64(packed.bytes, Base64::kUrl);
}

std::span<const std::byte, Token::kBytes> Token::secret() const { return secret_; }

}  // namespace shoal::transport
