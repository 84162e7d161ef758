#pragma once
/// The sentence for a call on a path that the system refused.
#include <string>
#include <string_view>

#include "shoal/base/error.h"

namespace shoal {

/// "cannot `verb` `path`: `cause`; what to do", of the kind that the error number (ENOENT, ...) means for Storage.
Error path_error(std::string_view verb, const std::string& path, int number);

}  // namespace shoal
