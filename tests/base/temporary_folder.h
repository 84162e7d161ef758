// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The folder that a test has for itself; every folder of tests/ uses this one.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "shoal/base/check.h"

namespace shoal {

/// A fresh folder, removed with everything in it.
class TemporaryFolder {
 public:
  TemporaryFolder() : path_((std::filesystem::temp_directory_path() / "shoal-test-XXXXXX").string()) {
    SHOAL_CHECK(mkdtemp(path_.data()) != nullptr);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  /// Writes the file `name`, with the folders on its way; returns its path.
  std::string write(const std::string& name, const std::string& contents) const {
    const std::string path = *this / name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file << contents;
    SHOAL_CHECK(file.flush().good());
    return path;
  }

 private:
  std::string path_;
};

}  // namespace shoal
