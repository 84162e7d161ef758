// SPDX-License-Identifier: Apache-2.0
#include "cpp/parts.h"

#include <map>
#include <string_view>
#include <vector>

#include "shoal/base/check.h"
#include "shoal/base/forever.h"
#include "shoal/base/split_text.h"

namespace shoal::convert::cpp {

/// The texts of all files of parts/, and the number of these files. The build defines both variables (parts.cmake).
extern const char* const kPartFiles[];
extern const int kPartFileCount;

namespace {

struct SourcePart {
  std::vector<std::string> needs;
  std::string text;
};
using Parts = std::map<std::string, SourcePart, std::less<>>;

/// Adds the parts (functions for generated code) of one file of parts/. Lines before the first part are comments for
/// readers of the file.
void read_parts(std::string_view file, Parts& parts) {
  constexpr std::string_view kMark = "//@ part ";
  SourcePart* part = nullptr;
  while (!file.empty()) {
    const size_t end = file.find('\n');
    const std::string_view line = file.substr(0, end);
    file.remove_prefix(end == std::string_view::npos ? file.size() : end + 1);
    if (line.starts_with(kMark)) {
      const std::vector<std::string_view> words = split_at_blanks(line.substr(kMark.size()));
      SHOAL_CHECK(!words.empty() && !parts.contains(words[0]));
      part = &parts[std::string(words[0])];
      for (const std::string_view word : words) {
        if (word != words[0] && word != "needs") part->needs.emplace_back(word);
      }
    } else if (part) {
      part->text += std::string(line) + "\n";
    }
  }
}

const Parts& all_parts() {
  static const auto& parts = forever([] {
    Parts result;
    for (int i = 0; i < kPartFileCount; ++i) read_parts(kPartFiles[i], result);
    return result;
  }());
  return parts;
}

void add_part(const std::string& name, std::set<std::string>& added, std::string& text) {
  if (!added.insert(name).second) return;
  const auto found = all_parts().find(name);
  SHOAL_CHECK(found != all_parts().end());
  for (const std::string& other : found->second.needs) add_part(other, added, text);
  text += found->second.text;
}

}  // namespace

std::string parts_text(const std::set<std::string>& names) {
  std::set<std::string> added;
  std::string text;
  for (const std::string& name : names) add_part(name, added, text);
  while (text.ends_with("\n\n")) text.pop_back();
  return text;
}

}  // namespace shoal::convert::cpp
