// SPDX-License-Identifier: Apache-2.0
#include "job/identity_lines.h"

#include <algorithm>
#include <cstdio>

#include "shoal/base/random.h"
#include "shoal/cluster/identity.h"

namespace shoal::cluster {

std::string bounded_lines(std::string text) {
  if (text.size() <= kIdentityBytesMax) return text;
  char rest[48];
  std::snprintf(rest, sizeof rest, "%s: %016llx\n", kMoreLines.data(), static_cast<unsigned long long>(fold_in(0, text)));
  text.resize(text.rfind('\n', kIdentityBytesMax - sizeof rest) + 1);
  return text + rest;
}

IdentityLines identity_lines(std::string_view text) {
  IdentityLines lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const size_t colon = std::min(line.find(": "), line.size());
    lines[line.substr(0, colon)] = colon == line.size() ? std::string_view() : line.substr(colon + 2);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace shoal::cluster
