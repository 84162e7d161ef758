// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "shoal/transport/transport.h"

namespace shoal::transport {
namespace {
constexpr size_t kAddressBytesMax = 512;
bool scheme_character(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool printable(char c) { return c > ' ' && c < 127; }
}  // namespace

std::string to_string(const Endpoint& endpoint) { return endpoint.scheme + "://" + endpoint.address; }

Result<Endpoint> parse_endpoint(std::string_view text) {
  const auto wrong = [&](std::string_view what) {
    return invalid_argument("endpoint \"" + std::string(text.substr(0, kAddressBytesMax)) + "\": " + std::string(what) +
                            "; write scheme://address, for example tcp://127.0.0.1:2222");
  };
  const size_t mark = text.find("://");
  if (mark == std::string_view::npos) return wrong("no \"://\" in it");
  const std::string_view scheme = text.substr(0, mark);
  const std::string_view address = text.substr(mark + 3);
  if (scheme.empty() || !std::all_of(scheme.begin(), scheme.end(), scheme_character))
    return wrong("the scheme is not made of small letters and digits");
  if (address.empty()) return wrong("the address is empty");
  if (address.size() > kAddressBytesMax) return wrong("the address is longer than 512 characters");
  if (!std::all_of(address.begin(), address.end(), printable)) return wrong("the address has blanks or odd characters");
  return Endpoint{std::string(scheme), std::string(address)};
}

}  // namespace shoal::transport
