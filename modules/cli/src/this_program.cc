// SPDX-License-Identifier: Apache-2.0
#include "this_program.h"

#include <sys/auxv.h>

namespace shoal::cli {

std::string file_of_this_program(const char* called) {
  const auto* const started = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
  const std::string file = started ? started : called;
  return file.find('/') == std::string::npos ? "./" + file : file;
}

}  // namespace shoal::cli
