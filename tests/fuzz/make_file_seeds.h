// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The seeds of the targets that read files.
#include <filesystem>
#include <string>

namespace shoal::fuzz {

/// FOLDER/TARGET/NAME.
void write_seed(const std::filesystem::path& folder, const std::string& target, const std::string& name,
                const std::string& bytes);

template <class T>
std::string bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

void write_file_seeds(const std::filesystem::path& folder);
void write_image_seeds(const std::filesystem::path& folder);  // write_file_seeds() calls this.
/// Defined in make_array_seeds.cc.
void write_array_seeds(const std::filesystem::path& folder);
/// Defined in make_onnx_seeds.cc.
void write_onnx_seeds(const std::filesystem::path& folder);

}  // namespace shoal::fuzz
