// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A storage that keeps its files in memory, for runs that touch no file system.
#include <cstdint>
#include <limits>
#include <memory>

#include "shoal/base/storage.h"

namespace shoal {

struct MemoryStorageOptions {
  /// Room for the contents of all named files. Writes beyond it fail with Unavailable ("No space left on device").
  uint64_t capacity_bytes = std::numeric_limits<uint64_t>::max();
};

/// Makes an empty storage whose files live as long as the storage. It behaves as a file system does, with folders, locks,
/// and files that may be renamed while they are open. Its paths are its own: "m", "./m" and "/m" are one place, and no file
/// of this machine is visible. A lock holds against all users of this object, so never against another process. File times
/// come from the system's clock. Thread-safe.
///
/// Errors: the same kinds and sentences as those of make_file_storage().
std::unique_ptr<Storage> make_memory_storage(MemoryStorageOptions options = {});

/// Copies all files and folders in `from_folder` into `to_folder`, which is made if it is missing. Files that exist
/// there are replaced, each atomically (Storage::write_atomically). Each file is read into memory as a whole.
///
///   copy_folder(*memory, "m/export/best/1700000000", *make_file_storage(), "/srv/models/7");
Result<void> copy_folder(Storage& from, const std::string& from_folder, Storage& to, const std::string& to_folder);

}  // namespace shoal
