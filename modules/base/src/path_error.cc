#include "shoal/base/path_error.h"

#include <cerrno>

#include "shoal/base/exhaustion.h"

namespace shoal {

Error path_error(std::string_view verb, const std::string& path, int number) {
  std::string sentence = "cannot ";
  sentence.append(verb).append(" ").append(path).append(": ").append(system_error_text(number));
  switch (number) {
    case ENOENT: return not_found(std::move(sentence));
    case EACCES:
    case EPERM: return failed_precondition(sentence + "; check the owner and the permissions, or choose another folder");
    case EROFS: return failed_precondition(sentence + "; choose a folder that can be written");
    case ENOTDIR: return failed_precondition(sentence + "; a part of this path is a file");
    case EISDIR:
    case EEXIST:
    case ENOTEMPTY:
    case ENAMETOOLONG:
    case ELOOP:
    case EINVAL:
    case EXDEV: return failed_precondition(std::move(sentence));
    default: return unavailable(std::move(sentence));
  }
}

}  // namespace shoal
