// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Base64 (RFC 4648): writes any bytes as text.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shoal {

enum class Base64 : uint8_t {
  kPadded,  ///< Section 4 of RFC 4648: "+" and "/", and "=" up to a multiple of four letters.
  kUrl,     ///< Section 5 of RFC 4648: "-" and "_", no "=". Such text needs no quoting in addresses and file names.
};

/// The 64 letters of Base64, in the order of the numbers 0 to 63 that they stand for.
std::string_view base64_letters(Base64 dialect);

std::string to_base64(std::string_view bytes, Base64 dialect = Base64::kPadded);
/// Decodes `text`. Returns nothing unless to_base64() would write exactly `text` for the decoded bytes: other spellings are
/// refused.
std::optional<std::string> from_base64(std::string_view text, Base64 dialect = Base64::kPadded);

}  // namespace shoal
