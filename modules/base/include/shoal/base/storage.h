// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The file operations that Shoal uses. In production they go to the file system, in simulations to a disk that can fail.
/// All calls block, so coroutines of a task make them through Environment::offload().
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/result.h"
#include "shoal/base/time.h"

namespace shoal {

/// A file that is written from its start or appended to. Small appends are collected in memory: destroying the object
/// without close() loses what was not flushed. After an error every further call returns the same error.
class WritableFile {
 public:
  virtual ~WritableFile() = default;
  virtual Result<void> append(std::span<const std::byte> bytes) = 0;
  virtual Result<void> flush() = 0;  ///< Passes all appended bytes to the operating system.
  virtual Result<void> sync() = 0;   ///< Flushes, and returns once all bytes are on the disk.
  virtual Result<void> close() = 0;  ///< Flushes, closes, and returns the errors of both.
};

class ReadableFile {
 public:
  virtual ~ReadableFile() = default;
  virtual uint64_t size() const = 0;
  /// Fills `out` with the bytes from `offset` on; DataLoss if the file ends before `out` is full.
  virtual Result<void> read_at(uint64_t offset, std::span<std::byte> out) const = 0;
};

/// A lock on a name, which this process holds until the object is destroyed or the process ends.
class StorageLock {
 public:
  virtual ~StorageLock() = default;
  /// Whether the name still leads to the locked file: false if the file or its folder was removed or replaced, so that
  /// another process that locks the name gets a lock of its own. An error means that the check failed, so the answer is not
  /// known.
  virtual Result<bool> is_in_place() = 0;
};

struct FileInfo {
  std::string name;  ///< The name without its folder.
  bool is_folder = false;
  uint64_t size_bytes = 0;
  WallTime modified;
};

/// Errors name the path and the cause: NotFound (no such file), Unavailable (disk full, input/output error),
/// FailedPrecondition (not permitted, read-only), InvalidArgument (the text is no path: check_path()).
///
/// The functions of a program's own Storage, and those of its files and locks, must not throw. They return an error, such
/// as unavailable("store://jobs/7: the server does not answer"), and catch the exceptions of functions that they call.
class Storage {
 public:
  virtual ~Storage() = default;
  /// Creates a file for writing. An existing file is truncated.
  virtual Result<std::unique_ptr<WritableFile>> create(const std::string& path) = 0;
  virtual Result<std::unique_ptr<WritableFile>> append(const std::string& path) = 0;
  virtual Result<std::unique_ptr<ReadableFile>> open(const std::string& path) = 0;
  virtual Result<void> rename(const std::string& from, const std::string& to) = 0;  ///< Replaces `to` atomically.
  /// Gives the file `from` the second name `to`, which must be free. The file exists as long as one of its names does.
  /// FailedPrecondition if the file system has no second names (FAT), or refuses one for this file.
  virtual Result<void> link(const std::string& from, const std::string& to) = 0;
  virtual Result<void> remove(const std::string& path) = 0;  ///< Removes a file or an empty folder.
  virtual Result<void> remove_all(const std::string& path) = 0;
  /// Makes the folder `path` and those above it that are missing. No error if `path` exists.
  virtual Result<void> make_folders(const std::string& path) = 0;
  virtual Result<void> sync_folder(const std::string& path) = 0;            ///< Makes renames in the folder durable.
  virtual Result<std::vector<FileInfo>> list(const std::string& path) = 0;  ///< Sorted by name (bytes).
  virtual bool exists(const std::string& path) = 0;
  /// Locks the file `path` against every other lock of it, on this machine and on all machines that share the folder. A
  /// missing file is made; the file stays when the lock ends. `note` is one line about the holder.
  /// Unavailable if the lock is taken, with the other holder's note; FailedPrecondition if the storage has no locks;
  /// InvalidArgument if this process may neither write nor read the file.
  virtual Result<std::unique_ptr<StorageLock>> lock(const std::string& path, std::string_view note) = 0;
  /// Makes an empty folder with a new name that begins with `prefix` ("/tmp/shoal-").
  virtual Result<std::string> make_temporary_folder(const std::string& prefix) = 0;
  /// Returns a part of a file name that no other call returns, in any process on any machine.
  virtual std::string unique_name() = 0;
  /// Returns the one path by which other processes and later starts can recognize the file or folder `path`, which need not
  /// exist: absolute, without "." and "..", and with symbolic links followed. The default is for storages without links and
  /// without a working folder, where "m" and "/m" are one place.
  virtual std::string full_path(const std::string& path);

  // The functions below call only the virtual functions above.
  Result<std::string> read_all(const std::string& path, uint64_t size_bytes_max = uint64_t(1) << 30);
  /// Writes a temporary file (`path`, ".tmp-" and a unique name), syncs it, renames it to `path` and syncs the folder.
  /// Readers see the old or the new contents, also after a crash.
  Result<void> write_atomically(const std::string& path, std::string_view contents);
};

/// The file system of this machine.
std::unique_ptr<Storage> make_file_storage();

/// "a/b" from "a" and "b", with exactly one slash.
std::string join_path(std::string_view folder, std::string_view name);

}  // namespace shoal
