// SPDX-License-Identifier: Apache-2.0
#include "cpp/parts.h"

#include <map>
#include <sstream>
#include <string_view>
#include <vector>

#include "shoal/base/check.h"
#include "shoal/base/forever.h"

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
      std::istringstream words{std::string(line.substr(kMark.size()))};
      std::string name, word;
      words >> name;
      SHOAL_CHECK(!parts.contains(name));
      part = &parts[name];
      while (words >> word) {
        if (word != "needs") part->needs.push_back(word);
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
