// SPDX-License-Identifier: Apache-2.0
#pragma once
/// XXH3-64 checksums, of bytes in memory or of a stream, and their text form.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace shoal::checkpoint {

uint64_t checksum_of(std::span<const std::byte> bytes);
uint64_t checksum_of(std::string_view text);

/// The checksum of everything passed to update(), in order.
class Checksum {
 public:
  Checksum();
  ~Checksum();
  Checksum(Checksum&&) noexcept;
  Checksum& operator=(Checksum&&) noexcept;

  void update(std::span<const std::byte> bytes);
  uint64_t value() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Writes sixteen lower-case hexadecimal digits, as xxhsum does.
std::string to_hex(uint64_t checksum);
/// Reads what to_hex() writes; nothing for any other text.
std::optional<uint64_t> from_hex(std::string_view text);

}  // namespace shoal::checkpoint
