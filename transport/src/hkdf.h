// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Derives keys from a secret, each for one purpose.
#include <cstddef>
#include <span>
#include <string>

namespace shoal::transport {

struct HkdfInput {
  std::span<const std::byte> secret;     ///< The input keying material.
  std::span<const std::byte> salt = {};  ///< Empty: as many zeros as the hash has bytes.
  std::string info = {};                 ///< The key's purpose. Keys for different purposes reveal nothing of each other.
};

/// Fills `out` by HKDF-SHA256 (RFC 5869). False if OpenSSL fails, which it does for more than 8160 bytes.
bool hkdf_sha256(const HkdfInput& input, std::span<unsigned char> out);

}  // namespace shoal::transport
