// SPDX-License-Identifier: Apache-2.0
#include "evaluate/write_together.h"

#include <memory>
#include <set>
#include <span>

#include "shoal/base/durable_folder.h"
#include "shoal/base/synced_file.h"

namespace shoal {
namespace {

/// The folder `path` and those above it that do not exist, from the innermost outwards.
std::vector<std::string> missing_folders(Storage& storage, std::string path) {
  std::vector<std::string> missing;
  while (true) {
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    if (path.empty() || storage.exists(path)) return missing;
    missing.push_back(path);
    const size_t slash = path.find_last_of('/');
    path.resize(slash == std::string::npos ? 0 : slash);
  }
}

/// Remembers what to remove after an error.
class FileSet {
 public:
  FileSet(Storage& storage, const StopToken& stop) : storage_(storage), stop_(stop) {}

  Result<void> write(const std::vector<WholeFile>& files) {
    std::vector<std::string> temporaries;
    for (const WholeFile& file : files) {
      temporaries.push_back(file.path + ".tmp-" + storage_.unique_name());
      made_.push_back(temporaries.back());
      SHOAL_TRY_VOID(write_blocks(temporaries.back(), file));
    }
    // From here on the files get their names, which takes a moment, so a stop no longer ends the call.
    std::set<std::string> folders;
    for (size_t i = 0; i < files.size(); ++i) {
      // A rename that reports an error may have happened nevertheless, so the file is remembered before.
      if (!storage_.exists(files[i].path)) made_.push_back(files[i].path);
      SHOAL_TRY_VOID(storage_.rename(temporaries[i], files[i].path));
      folders.insert(folder_of(files[i].path));
    }
    for (const std::string& folder : folders) SHOAL_TRY_VOID(storage_.sync_folder(folder));
    return {};
  }
  /// Errors are dropped: the error of the writing is the one to report.
  void remove() {
    for (const std::string& path : made_) static_cast<void>(storage_.remove(path));
  }

 private:
  /// As write_synced(), but looks for a stop between blocks.
  Result<void> write_blocks(const std::string& path, const WholeFile& whole) {
    constexpr size_t kBlockBytes = size_t(1) << 20;
    SHOAL_TRY_VOID(check_stop(whole));
    SHOAL_TRY(const std::unique_ptr<WritableFile> file, storage_.create(path));
    for (size_t at = 0; at < whole.contents.size(); at += kBlockBytes) {
      SHOAL_TRY_VOID(check_stop(whole));
      SHOAL_TRY_VOID(file->append(std::as_bytes(std::span(whole.contents.substr(at, kBlockBytes)))));
    }
    SHOAL_TRY_VOID(file->sync());
    SHOAL_TRY_VOID(file->close());
    return check_stop(whole);
  }
  Result<void> check_stop(const WholeFile& file) const {
    if (!stop_.stop_requested()) return {};
    return Error(ErrorKind::kCancelled, file.path + ": interrupted, so nothing was written");
  }

  Storage& storage_;
  const StopToken& stop_;
  std::vector<std::string> made_;
};

}  // namespace

Result<void> write_together(Storage& storage, const std::vector<WholeFile>& files, const StopToken& stop) {
  FileSet set(storage, stop);
  Result<void> written = set.write(files);
  if (!written) set.remove();
  return written;
}

Result<void> write_together_in(Storage& storage, const std::string& folder, const std::vector<WholeFile>& files,
                               const StopToken& stop) {
  const std::vector<std::string> missing = missing_folders(storage, folder);
  Result<void> written = make_durable_folder(storage, folder);
  if (written) written = write_together(storage, files, stop);
  if (written) return written;
  // Storage::remove() refuses a folder that is not empty.
  for (const std::string& made : missing) static_cast<void>(storage.remove(made));
  return written;
}

}  // namespace shoal
