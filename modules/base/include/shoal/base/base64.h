// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Any bytes as text: base64 of RFC 4648.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shoal {

enum class Base64 : uint8_t {
  kPadded,  ///< Section 4 of RFC 4648: "+" and "/", and "=" up to a multiple of four letters.
  kUrl,     ///< Section 5, without padding: "-" and "_", which need no quotes anywhere.
};

/// The 64 letters, in the order of their values.
std::string_view base64_letters(Base64 dialect);

std::string to_base64(std::string_view bytes, Base64 dialect = Base64::kPadded);
/// The bytes of `text`. Nothing if it is not exactly what to_base64() makes: no other spelling of the same bytes is
/// taken.
std::optional<std::string> from_base64(std::string_view text, Base64 dialect = Base64::kPadded);

}  // namespace shoal
