// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/path_error.h"

#include <algorithm>
#include <cerrno>

#include "shoal/base/exhaustion.h"

namespace shoal {
namespace {

/// The scheme of an address ("gs" of "gs://bucket"); empty for a path.
std::string_view scheme_of(std::string_view path) {
  const size_t end = path.find("://");
  if (end == path.npos || end == 0) return {};
  const std::string_view scheme = path.substr(0, end);
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto fits = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.'; };
  return is_letter(scheme.front()) && std::all_of(scheme.begin(), scheme.end(), fits) ? scheme : std::string_view();
}

/// Returns an error of the kind that fits errno `number`. Its text is `sentence`, for some errnos followed by advice.
Error error_of(std::string sentence, int number) {
  switch (number) {
    case ENOENT: return not_found(std::move(sentence));
    case EACCES:
    case EPERM: return failed_precondition(sentence + "; check the owner and the permissions, or choose another folder");
    case EROFS: return failed_precondition(sentence + "; choose a folder that can be written");
    case ENOTDIR: return failed_precondition(sentence + "; a part of this path is a file");
    case EEXIST:
    case EISDIR:
    case ENOTEMPTY:
    case ENAMETOOLONG:
    case ELOOP:
    case EINVAL:
    case EXDEV: return failed_precondition(std::move(sentence));
    default: return unavailable(std::move(sentence));
  }
}

}  // namespace

Result<void> check_path(std::string_view path) {
  const std::string named(path);
  if (path == "~" || path.starts_with("~/")) {
    return invalid_argument(
        named + ": a shell replaces ~ by the home folder at the beginning of a word only, and this path still has " +
        "it: write $HOME" + named.substr(1) + " (or ./" + named + " for a folder that is named ~)");
  }
  const std::string_view scheme = scheme_of(path);
  if (scheme.empty()) return {};
  if (scheme == "file") {
    const std::string_view rest = path.substr(scheme.size() + 3);  // What follows "://": a host, often empty, and a path.
    const size_t slash = rest.find('/');
    const std::string plain(slash == rest.npos ? rest : rest.substr(slash));
    return invalid_argument(named + ": this is an address, but a path is needed here: write " + plain);
  }
  return invalid_argument(named + ": Shoal reads and writes files on file systems only, and this is an address of " +
                          std::string(scheme) +
                          ": mount its contents as a folder, or copy them to one, and give the folder's path (./" + named +
                          " for a folder of that name)");
}

Error path_error(std::string_view verb, const std::string& path, int number) {
  std::string sentence = "cannot ";
  sentence.append(verb).append(" ").append(path).append(": ").append(system_error_text(number));
  return error_of(std::move(sentence), number).with_system_error(number);
}

bool is_full(const Error& error) {
  const int number = error.system_error();
  return number == ENOSPC || number == EDQUOT || number == EFBIG;
}

bool is_unwritable(const Error& error) {
  const int number = error.system_error();
  return is_full(error) || number == EROFS || number == EACCES || number == EPERM || number == ENOTDIR;
}

}  // namespace shoal
