// SPDX-License-Identifier: Apache-2.0
#include "plot/run_names.h"

#include <algorithm>
#include <map>

#include "plot/clean_text.h"

namespace shoal::cli::plot {
namespace {

std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    const std::string part = path.substr(begin, end - begin);
    if (!part.empty() && part != ".") parts.push_back(part);
    begin = end + 1;
  }
  if (parts.empty()) parts.push_back(path);
  return parts;
}

/// Each path is a list of names. Returns how many names at the beginning (`back`: at the end) are the same in all paths.
/// The caller leaves these names out, and `left_out` names at the other end. The number is so small that each path then
/// still has at least one name.
size_t shared_parts(const std::vector<std::vector<std::string>>& paths, bool back, size_t left_out) {
  size_t count = 0;
  for (;; ++count) {
    const auto part = [&](const std::vector<std::string>& path) {
      return back ? path[path.size() - 1 - count] : path[count];
    };
    for (const std::vector<std::string>& path : paths) {
      if (count + left_out + 1 >= path.size() || part(path) != part(paths.front())) return count;
    }
  }
}

}  // namespace

std::vector<std::string> run_names(const std::vector<std::string>& folders) {
  std::vector<std::vector<std::string>> paths;
  for (const std::string& folder : folders) paths.push_back(parts_of(folder));
  if (paths.empty()) return {};
  const size_t front = shared_parts(paths, false, 0);
  const size_t back = shared_parts(paths, true, front);
  std::vector<std::string> names;
  std::map<std::string, int> uses;
  for (const std::vector<std::string>& path : paths) {
    std::string name;
    for (size_t i = front; i + back < path.size(); ++i) name += (name.empty() ? "" : "/") + path[i];
    name = clean_text(name);
    const int use = ++uses[name];
    names.push_back(use == 1 ? name : name + " (" + std::to_string(use) + ")");
  }
  return names;
}

}  // namespace shoal::cli::plot
