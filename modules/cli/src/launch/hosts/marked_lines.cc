// SPDX-License-Identifier: Apache-2.0
#include "launch/hosts/marked_lines.h"

#include <algorithm>
#include <utility>

namespace shoal::cli::launch {
namespace {

/// Returns how many characters at the end of `text` could be the beginning of `mark`, if later bytes complete it.
size_t begun_mark(std::string_view text, std::string_view mark) {
  for (size_t count = std::min(text.size(), mark.size() - 1); count > 0; --count) {
    if (text.ends_with(mark.substr(0, count))) return count;
  }
  return 0;
}

}  // namespace

std::string MarkedLines::take(std::string_view bytes, std::vector<std::string>& said) {
  held_ += bytes;
  std::string passed;
  std::string_view rest = held_;
  for (;;) {
    const size_t at = rest.find(mark_);
    if (at == std::string_view::npos) {
      const size_t kept = begun_mark(rest, mark_);
      passed += rest.substr(0, rest.size() - kept);
      rest.remove_prefix(rest.size() - kept);
      break;
    }
    passed += rest.substr(0, at);
    rest.remove_prefix(at);
    const size_t end = rest.find('\n');
    if (end == std::string_view::npos && rest.size() <= kLineBytesMax) break;
    std::string_view line = rest.substr(0, std::min(end, kLineBytesMax));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    line.remove_prefix(std::min(line.size(), mark_.size() + 1));
    said.emplace_back(line);
  }
  held_ = std::string(rest);
  return passed;
}

std::string MarkedLines::finish() { return std::exchange(held_, {}); }

}  // namespace shoal::cli::launch
