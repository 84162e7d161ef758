// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Files, as far as Shoal writes and reads them. Production: the file system. Simulation: a disk that can fail.
/// All calls block; roles call them through Environment::offload.
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

/// A file being written from its start or appended to. Small appends are collected in memory: destroying it without
/// close() loses what was not flushed. After an error every further call returns that error.
class WritableFile {
 public:
  virtual ~WritableFile() = default;
  virtual Result<void> append(std::span<const std::byte> bytes) = 0;
  virtual Result<void> flush() = 0;  ///< Hands what was appended to the operating system.
  virtual Result<void> sync() = 0;   ///< Returns once all of it is on the disk.
  virtual Result<void> close() = 0;  ///< Reports what closing found.
};

class ReadableFile {
 public:
  virtual ~ReadableFile() = default;
  virtual uint64_t size() const = 0;
  /// Fills `out` from `offset`; DataLoss if the file ends before.
  virtual Result<void> read_at(uint64_t offset, std::span<std::byte> out) const = 0;
};

/// A name that one process holds, until this is destroyed or the process ends.
class StorageLock {
 public:
  virtual ~StorageLock() = default;
  /// Whether the name still leads to what is held: false where the file was removed or replaced, or its folder was. Another
  /// process that locks the name then holds a lock of its own. Errors: those of looking, which say neither.
  virtual Result<bool> is_in_place() = 0;
};

struct FileInfo {
  std::string name;  ///< The name without its folder.
  bool is_folder = false;
  uint64_t size_bytes = 0;
  WallTime modified;
};

/// Errors name the path and the cause: NotFound (no such file), Unavailable (disk full, input/output error),
/// FailedPrecondition (not permitted, read-only), InvalidArgument (what is no path: check_path()).
class Storage {
 public:
  virtual ~Storage() = default;
  /// Truncates a file that is there.
  virtual Result<std::unique_ptr<WritableFile>> create(const std::string& path) = 0;
  virtual Result<std::unique_ptr<WritableFile>> append(const std::string& path) = 0;
  virtual Result<std::unique_ptr<ReadableFile>> open(const std::string& path) = 0;
  virtual Result<void> rename(const std::string& from, const std::string& to) = 0;  ///< Replaces `to` atomically.
  /// Gives the file `from` the second name `to`, which must be free. The file is there for as long as one of its names is.
  /// FailedPrecondition where the file system has no second names (FAT), or not for this file.
  virtual Result<void> link(const std::string& from, const std::string& to) = 0;
  virtual Result<void> remove(const std::string& path) = 0;                         ///< Takes one file or empty folder.
  virtual Result<void> remove_all(const std::string& path) = 0;
  virtual Result<void> make_folders(const std::string& path) = 0;           ///< Makes parents too; fine if it exists.
  virtual Result<void> sync_folder(const std::string& path) = 0;            ///< Makes renames in it durable.
  virtual Result<std::vector<FileInfo>> list(const std::string& path) = 0;  ///< Sorted by name (bytes).
  virtual bool exists(const std::string& path) = 0;
  /// Holds `path` (a file, made if it is missing, which stays) against every other lock of it, on this machine and on all
  /// that share the folder. `note`: one line about the holder. Unavailable, with the holder's note: it is held already.
  virtual Result<std::unique_ptr<StorageLock>> lock(const std::string& path, std::string_view note) = 0;
  /// A fresh, empty folder with a name that begins with `prefix` ("/tmp/shoal-").
  virtual Result<std::string> make_temporary_folder(const std::string& prefix) = 0;
  /// Part of a file's name that no other call gives, of any process on any machine.
  virtual std::string unique_name() = 0;

  // These are made of the above.
  Result<std::string> read_all(const std::string& path, uint64_t size_bytes_max = uint64_t(1) << 30);
  /// Temporary name (`path` with ".tmp-" and a unique name behind it), write, sync, rename, sync folder: readers see the
  /// old or the new contents, also after a crash.
  Result<void> write_atomically(const std::string& path, std::string_view contents);
};

/// The file system of this machine.
std::unique_ptr<Storage> make_file_storage();

/// "a/b" from "a" and "b", with exactly one slash.
std::string join_path(std::string_view folder, std::string_view name);

}  // namespace shoal
