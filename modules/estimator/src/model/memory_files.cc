// SPDX-License-Identifier: Apache-2.0
#include "model/memory_files.h"

#include <cstring>

namespace shoal {
namespace {

class MemoryFile final : public ReadableFile {
 public:
  MemoryFile(std::string path, std::span<const std::byte> bytes) : path_(std::move(path)), bytes_(bytes) {}
  uint64_t size() const override { return bytes_.size(); }
  Result<void> read_at(uint64_t offset, std::span<std::byte> out) const override {
    if (offset > bytes_.size() || out.size() > bytes_.size() - offset) {
      return data_loss(path_ + ": ends after " + std::to_string(bytes_.size()) + " bytes");
    }
    if (!out.empty()) std::memcpy(out.data(), bytes_.data() + offset, out.size());
    return {};
  }

 private:
  std::string path_;
  std::span<const std::byte> bytes_;
};

}  // namespace

void MemoryFiles::keep(std::string path, std::string bytes) {
  kept_.push_back(std::make_unique<const std::string>(std::move(bytes)));
  lend(std::move(path), std::as_bytes(std::span(*kept_.back())));
}

Result<std::unique_ptr<ReadableFile>> MemoryFiles::open(const std::string& path) {
  const auto file = files_.find(path);
  if (file != files_.end()) return std::unique_ptr<ReadableFile>(std::make_unique<MemoryFile>(path, file->second));
  if (others_) return others_->open(path);
  return not_found("open " + path + ": there is no file of that name in memory");
}

bool MemoryFiles::exists(const std::string& path) { return files_.contains(path) || (others_ && others_->exists(path)); }

Error MemoryFiles::refused(const std::string& path) {
  return failed_precondition(path + ": files in memory can be opened, and nothing else");
}

}  // namespace shoal
