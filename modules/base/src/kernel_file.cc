// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/kernel_file.h"

#include <cstdlib>

namespace shoal {

KernelFile::KernelFile(const std::string& path) : file_(std::fopen(path.c_str(), "re")) {}

KernelFile::~KernelFile() {
  if (file_) std::fclose(file_);
  std::free(line_);
}

std::optional<std::string_view> KernelFile::line() {
  const ssize_t size = file_ ? ::getline(&line_, &capacity_, file_) : -1;
  if (size < 0) return std::nullopt;
  const std::string_view line(line_, size_t(size));
  return line.substr(0, line.size() - (line.ends_with('\n') ? 1 : 0));
}

}  // namespace shoal
