// SPDX-License-Identifier: Apache-2.0
#include "launch/line_splitter.h"

#include <algorithm>
#include <utility>

namespace shoal::cli::launch {

std::vector<std::string> LineSplitter::take(std::string_view bytes) {
  std::vector<std::string> lines;
  while (!bytes.empty()) {
    if (std::exchange(ended_, false) && bytes.front() == '\n') {
      bytes.remove_prefix(1);
      continue;
    }
    const size_t room = kLineBytesMax - line_.size();
    const size_t end = bytes.substr(0, room).find_first_of("\r\n");
    const size_t count = end == std::string_view::npos ? std::min(room, bytes.size()) : end;
    line_ += bytes.substr(0, count);
    bytes.remove_prefix(count);
    if (end != std::string_view::npos) {
      ended_ = bytes.front() == '\r';
      bytes.remove_prefix(1);
      lines.push_back(std::exchange(line_, {}));
    } else if (line_.size() == kLineBytesMax) {
      ended_ = true;
      lines.push_back(std::exchange(line_, {}));
    }
  }
  return lines;
}

std::vector<std::string> LineSplitter::finish() {
  std::vector<std::string> lines;
  if (!line_.empty()) lines.push_back(std::exchange(line_, {}));
  return lines;
}

}  // namespace shoal::cli::launch
