// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Folders and files in memory, as a file system keeps them: what programs see, and beside it what is on the disk for sure.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/random.h"
#include "shoal/base/time.h"

namespace shoal::testing {

/// One file or folder. An open handle keeps it, whatever happens to its name.
struct FileNode {
  using Names = std::map<std::string, std::shared_ptr<FileNode>>;
  explicit FileNode(bool folder) : is_folder(folder) {}

  const bool is_folder;
  WallTime modified;

  // Members of a file.
  std::string contents;
  size_t durable_bytes = 0;  // The length of the part of `contents` that is on disk.
  std::optional<std::string> before_cut;  // The contents on disk while emptying the file is not durable yet.
  size_t lost_begin = 0, lost_end = 0;    // A failed sync dropped these bytes: they never reach the disk.
  bool held = false;                      // True while a lock holds it.

  // Members of a folder.
  Names names;
  Names durable_names;

  void empty();                                       ///< Empties it as O_TRUNC does.
  void write(size_t offset, std::string_view bytes);  ///< Writes zeros up to `offset` if the file ends before.
  void sync();
  void drop_unsynced();  ///< Drops what a failed fsync() does.
  void lose_power(RandomStream& random);
};

/// Numbers returned are those of errno; 0 is success.
class FileTree {
 public:
  FileTree();
  ~FileTree();
  FileTree(const FileTree&) = delete;
  FileTree& operator=(const FileTree&) = delete;

  /// Where a path leads. `number` is 0 if all folders on the way are there; then `node` is null if only the last name is
  /// missing, and `folder` is null for the root.
  struct Found {
    int number = 0;
    std::shared_ptr<FileNode> folder;
    std::string name;
    std::shared_ptr<FileNode> node;
    /// 0 or what opening a file there meets.
    int as_file() const;
    int as_folder() const;
  };
  Found find(const std::string& path) const;

  /// Gives the free name `at` to a new file or folder.
  std::shared_ptr<FileNode> make(const Found& at, bool is_folder, WallTime now);
  int make_folders(const std::string& path, WallTime now, bool only_first = false);
  int rename(const std::string& from, const std::string& to, WallTime now);
  int link(const std::string& from, const std::string& to, WallTime now);
  int remove(const std::string& path, WallTime now);
  int sync_folder(const std::string& path);
  void lose_power(uint64_t seed);

  std::vector<std::string> files() const;
  uint64_t used_bytes() const;

  /// "a//b/./c" as {a, b, c}; ".." goes back by one.
  static std::vector<std::string> parts_of(const std::string& path);
  /// "/a/b/" of a folder: what is in it begins with that.
  static std::string key_of(const std::string& path);

 private:
  /// Says that in `folder`, `name` now means `node`, or nothing.
  struct Edit {
    std::shared_ptr<FileNode> folder;
    std::string name;
    std::shared_ptr<FileNode> node;
    void apply(FileNode::Names& names) const;
  };
  using Change = std::vector<Edit>;  // Edits that happen all together or not at all.
  void change(Change edits, WallTime now);

  std::shared_ptr<FileNode> root_;
  std::vector<Change> changes_;  // Changes that are not on the disk for sure.
  // All folders: after a power loss, folders may hold each other in a cycle.
  std::vector<std::weak_ptr<FileNode>> folders_;
};

}  // namespace shoal::testing
