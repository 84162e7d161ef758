// SPDX-License-Identifier: Apache-2.0
#include "launch/hosts/program_copy.h"

#include <array>

namespace shoal::cli::launch {
namespace {

constexpr uint64_t kProgramBytesMax = uint64_t(4) << 30;
constexpr uint32_t kPolynomial = 0x04C11DB7;

constexpr std::array<uint32_t, 256> kRemainders = [] {
  std::array<uint32_t, 256> remainders{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t value = byte << 24;
    for (int bit = 0; bit < 8; ++bit) value = (value << 1) ^ ((value >> 31) != 0 ? kPolynomial : 0);
    remainders[byte] = value;
  }
  return remainders;
}();

void add_to_sum(uint32_t& sum, unsigned char byte) { sum = (sum << 8) ^ kRemainders[(sum >> 24) ^ byte]; }

}  // namespace

std::string cksum_text(std::string_view bytes) {
  uint32_t sum = 0;
  for (const char byte : bytes) add_to_sum(sum, static_cast<unsigned char>(byte));
  for (size_t rest = bytes.size(); rest != 0; rest >>= 8) add_to_sum(sum, static_cast<unsigned char>(rest & 0xFF));
  return std::to_string(~sum) + " " + std::to_string(bytes.size());
}

Result<ProgramCopy> copy_of_program(Storage& storage, const std::string& file) {
  ProgramCopy copy{.name = file.substr(file.rfind('/') + 1), .bytes = {}, .sum = {}};
  SHOAL_TRY(copy.bytes, storage.read_all(file, kProgramBytesMax));
  copy.sum = cksum_text(copy.bytes);
  return copy;
}

}  // namespace shoal::cli::launch
