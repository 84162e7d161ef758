// SPDX-License-Identifier: Apache-2.0
#include "memory_storage.h"

#include <algorithm>

namespace shoal::fuzz {
namespace {

class MemoryFile final : public ReadableFile {
 public:
  explicit MemoryFile(const std::string& contents) : contents_(contents), size_(contents.size()) {}
  uint64_t size() const override { return size_; }
  Result<void> read_at(uint64_t offset, std::span<std::byte> out) const override {
    if (offset > size_ || out.size() > size_ - offset) {
      return data_loss("the file ends before byte " + std::to_string(offset) + " + " + std::to_string(out.size()));
    }
    const auto bytes = std::as_bytes(std::span(contents_)).subspan(size_t(offset), out.size());
    std::copy(bytes.begin(), bytes.end(), out.begin());
    return {};
  }

 private:
  const std::string& contents_;
  const size_t size_;  // The size when the file was opened.
};

Error refused(const std::string& path) { return failed_precondition(path + ": a reader writes"); }

}  // namespace

Result<std::unique_ptr<ReadableFile>> MemoryStorage::open(const std::string& path) {
  const auto file = files.find(path);
  if (file == files.end()) return not_found(path + " is not there");
  return std::make_unique<MemoryFile>(file->second);
}

Result<std::vector<FileInfo>> MemoryStorage::list(const std::string& path) {
  const std::string folder = path + "/";
  std::vector<FileInfo> listing;
  for (const auto& [name, contents] : files) {
    if (!name.starts_with(folder)) continue;
    listing.push_back(
        {.name = name.substr(folder.size()), .is_folder = false, .size_bytes = contents.size(), .modified = WallTime()});
  }
  if (listing.empty()) return not_found(path + " is not there");
  return listing;
}

Result<std::unique_ptr<WritableFile>> MemoryStorage::create(const std::string& path) { return refused(path); }
Result<std::unique_ptr<WritableFile>> MemoryStorage::append(const std::string& path) { return refused(path); }
Result<void> MemoryStorage::rename(const std::string& from, const std::string&) { return refused(from); }
Result<void> MemoryStorage::link(const std::string& from, const std::string&) { return refused(from); }
Result<void> MemoryStorage::remove(const std::string& path) { return refused(path); }
Result<void> MemoryStorage::remove_all(const std::string& path) { return refused(path); }
Result<void> MemoryStorage::make_folders(const std::string& path) { return refused(path); }
Result<void> MemoryStorage::sync_folder(const std::string& path) { return refused(path); }
Result<std::unique_ptr<StorageLock>> MemoryStorage::lock(const std::string& path, std::string_view) {
  return refused(path);
}
Result<std::string> MemoryStorage::make_temporary_folder(const std::string& prefix) { return refused(prefix); }

}  // namespace shoal::fuzz
