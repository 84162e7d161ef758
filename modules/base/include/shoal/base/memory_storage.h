// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Files in memory, for runs that touch no file system.
#include <cstdint>
#include <limits>
#include <memory>

#include "shoal/base/storage.h"

namespace shoal {

struct MemoryStorageOptions {
  /// Room for the contents of all files that have a name; what goes beyond is Unavailable ("No space left on device").
  uint64_t capacity_bytes = std::numeric_limits<uint64_t>::max();
};

/// An empty storage whose files live as long as it does, with what a file system does: folders, files that are renamed while they
/// are open, locks. Its paths are its own: "m", "./m" and "/m" are one place, and no file of this machine is among them. A lock
/// holds against all who use this storage, which is against nobody outside of this process. The clock of its files is the
/// system's. Any thread.
///
/// Errors: those of the file system's storage, in its words.
std::unique_ptr<Storage> make_memory_storage(MemoryStorageOptions options = {});

/// Copies the files and folders below `from` to below `to`, which is made if it is missing; files that are there are replaced,
/// each at once (Storage::write_atomically). A file is copied by way of memory.
///
///   copy_folder(*memory, "m/export/best/1700000000", *make_file_storage(), "/srv/models/7");
Result<void> copy_folder(Storage& from, const std::string& from_folder, Storage& to, const std::string& to_folder);

}  // namespace shoal
