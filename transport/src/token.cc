#include "shoal/transport/token.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "shoal/base/check.h"

namespace shoal::transport {
namespace {

constexpr std::string_view kPrefix = "shoal1-";
constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr size_t kChecksumBytes = 4;
using Packed = std::array<uint8_t, Token::kBytes + kChecksumBytes>;  // what the letters stand for

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
  // Up to 256 bytes come whole, once the system has gathered randomness at its start.
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
  Packed packed{};
  for (size_t i = 0; i < kTextBytes - kPrefix.size(); ++i) {
    const size_t value = kLetters.find(text[kPrefix.size() + i]);
    if (value == std::string_view::npos)
      return malformed("character " + std::to_string(kPrefix.size() + i + 1) + " is none that tokens have");
    for (size_t bit = 0; bit < 6; ++bit) {
      const size_t at = 6 * i + bit;
      packed[at / 8] |= uint8_t(((value >> (5 - bit)) & 1) << (7 - at % 8));
    }
  }
  Token token;
  std::memcpy(token.secret_.data(), packed.data(), kBytes);
  const auto checksum = checksum_of(token.secret_);
  const bool intact = std::equal(checksum.begin(), checksum.end(), packed.begin() + kBytes);
  explicit_bzero(packed.data(), packed.size());
  if (!intact) return malformed("its checksum differs, so at least one character is wrong");
  return token;
}

Token::~Token() { explicit_bzero(secret_.data(), secret_.size()); }

std::string Token::to_text() const {
  Packed packed;
  std::memcpy(packed.data(), secret_.data(), kBytes);
  const auto checksum = checksum_of(secret_);
  std::copy(checksum.begin(), checksum.end(), packed.begin() + kBytes);
  std::string text(kPrefix);
  for (size_t i = 0; i < packed.size(); i += 3) {
    const uint32_t three = uint32_t(packed[i]) << 16 | uint32_t(packed[i + 1]) << 8 | packed[i + 2];
    for (int shift = 18; shift >= 0; shift -= 6) text += kLetters[(three >> shift) & 63];
  }
  explicit_bzero(packed.data(), packed.size());
  return text;
}

}  // namespace shoal::transport
