// SPDX-License-Identifier: Apache-2.0
#include "shoal/checkpoint/checksum.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <new>

namespace shoal::checkpoint {

// XXH3_state_t is declared with an alignment of 64 bytes, which `new State` obeys (malloc() might not).
struct Checksum::State {
  XXH3_state_t xxh;
};

uint64_t checksum_of(std::span<const std::byte> bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }
uint64_t checksum_of(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }

Checksum::Checksum() : state_(std::make_unique<State>()) { XXH3_64bits_reset(&state_->xxh); }
Checksum::~Checksum() = default;
Checksum::Checksum(Checksum&&) noexcept = default;
Checksum& Checksum::operator=(Checksum&&) noexcept = default;

void Checksum::update(std::span<const std::byte> bytes) {
  if (!bytes.empty()) XXH3_64bits_update(&state_->xxh, bytes.data(), bytes.size());
}

uint64_t Checksum::value() const { return XXH3_64bits_digest(&state_->xxh); }

std::string to_hex(uint64_t checksum) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text(16, '0');
  for (size_t i = 16; i-- > 0; checksum >>= 4) text[i] = kDigits[checksum & 15];
  return text;
}

std::optional<uint64_t> from_hex(std::string_view text) {
  if (text.size() != 16) return std::nullopt;
  uint64_t value = 0;
  for (char c : text) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit && !(c >= 'a' && c <= 'f')) return std::nullopt;
    value = value << 4 | uint64_t(digit ? c - '0' : c - 'a' + 10);
  }
  return value;
}

}  // namespace shoal::checkpoint
