// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/missing_path.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

namespace shoal {
namespace {

/// Whether the working folder was removed, so that no relative path leads anywhere.
bool working_folder_is_gone() {
  std::error_code error;
  static_cast<void>(std::filesystem::current_path(error));
  return error.value() == ENOENT;
}

/// "; PATH is a link to TARGET, which is not there" if `path` is such a link; else "".
std::string dangling_link(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISLNK(status.st_mode) || ::stat(path.c_str(), &status) == 0) return "";
  std::error_code error;
  const std::filesystem::path target = std::filesystem::read_symlink(path, error);
  if (error) return "";
  return "; " + path + " is a link to " + target.string() + ", which is not there: make that, or remove the link";
}

/// The reason why `path` does not exist, as the end of a sentence; "" if there is nothing to say.
std::string why_missing(const std::string& path) {
  if (!path.starts_with('/') && working_folder_is_gone()) {
    return "; the working folder of this process was removed: change to one that is there, and start it again";
  }
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    std::string link = dangling_link(path.substr(0, end));
    if (!link.empty() || end == std::string::npos) return link;
  }
}

}  // namespace

Error machine_path_error(std::string_view verb, const std::string& path, int number) {
  Error error = path_error(verb, path, number);
  if (number != ENOENT && number != EEXIST) return error;
  return Error(error.kind(), error.message() + why_missing(path)).with_system_error(number);
}

}  // namespace shoal
