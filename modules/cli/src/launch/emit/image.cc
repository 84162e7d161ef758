// SPDX-License-Identifier: Apache-2.0
// Implements check_image(): checks the reference of a container image by the grammar
// [HOST[:PORT]/]NAME[/NAME...][:TAG][@DIGEST] (Open Container Initiative, distribution specification, "Pulling manifests";
// github.com/distribution/reference).
#include <algorithm>
#include <cctype>

#include "launch/emit/engine.h"
#include "shoal/json/fields.h"

namespace shoal::cli::launch {
namespace {

constexpr size_t kReferenceBytesMax = 255, kTagBytesMax = 128;

bool is_small(char c) { return (c >= 'a' && c <= 'z') || std::isdigit(uint8_t(c)) != 0; }
bool is_plain(char c) { return c > 0 && std::isalnum(uint8_t(c)) != 0; }

/// True if the first and the last character satisfy `outer`, and `inner` accepts the text between them.
template <class Inner>
bool is_word(std::string_view text, bool (*outer)(char), Inner inner) {
  return !text.empty() && outer(text.front()) && outer(text.back()) &&
         std::ranges::all_of(text, [&](char c) { return outer(c) || inner(c); });
}

bool is_part(std::string_view part) {
  return is_word(part, is_small, [](char c) { return c == '.' || c == '_' || c == '-'; });
}

bool is_host(std::string_view host) {
  const size_t colon = host.rfind(':');
  const std::string_view port = colon == std::string_view::npos ? "0" : host.substr(colon + 1);
  const bool numbered = !port.empty() && std::ranges::all_of(port, [](char c) { return std::isdigit(uint8_t(c)) != 0; });
  return numbered && is_word(host.substr(0, colon), is_plain, [](char c) { return c == '.' || c == '-'; });
}

bool is_tag(std::string_view tag) {
  return !tag.empty() && tag.size() <= kTagBytesMax && (is_plain(tag.front()) || tag.front() == '_') &&
         std::ranges::all_of(tag, [](char c) { return is_plain(c) || c == '_' || c == '.' || c == '-'; });
}

/// True for the name of an algorithm, such as "sha256", a colon, and at least 32 hexadecimal digits.
bool is_digest(std::string_view digest) {
  constexpr size_t kLeastDigits = 32;
  const size_t colon = digest.find(':');
  if (colon == std::string_view::npos || !is_part(digest.substr(0, colon))) return false;
  const std::string_view digits = digest.substr(colon + 1);
  return digits.size() >= kLeastDigits &&
         std::ranges::all_of(digits, [](char c) { return std::isxdigit(uint8_t(c)) != 0; });
}

bool is_name(std::string_view name) {
  if (name.empty() || name.size() > kReferenceBytesMax) return false;
  const size_t slash = name.find('/');
  const std::string_view first = name.substr(0, slash);
  const bool host = slash != std::string_view::npos && !is_part(first);
  if (host || (slash != std::string_view::npos && first.find('.') != std::string_view::npos)) {
    if (!is_host(first)) return false;
    name.remove_prefix(slash + 1);
  }
  for (;;) {
    const size_t end = name.find('/');
    if (!is_part(name.substr(0, end))) return false;
    if (end == std::string_view::npos) return true;
    name.remove_prefix(end + 1);
  }
}

bool is_reference(std::string_view image) {
  if (const size_t at = image.find('@'); at != std::string_view::npos) {
    if (!is_digest(image.substr(at + 1))) return false;
    image = image.substr(0, at);
  }
  const size_t slash = image.rfind('/'), colon = image.rfind(':');
  if (colon != std::string_view::npos && (slash == std::string_view::npos || colon > slash)) {
    if (!is_tag(image.substr(colon + 1))) return false;
    image = image.substr(0, colon);
  }
  return is_name(image);
}

}  // namespace

Result<void> check_image(const std::string& image) {
  if (is_reference(image)) return {};
  return invalid_argument(
      "--image: " + json::text_of(json::Json(image), -1, true) +
      " is no name of an image, as registry:5000/team/mnist:1 is: lower-case letters, digits, and '.', '_', " +
      "'-' between them; a tag stands behind ':'");
}

}  // namespace shoal::cli::launch
