// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A file system in memory. It keeps what programs see and, beside that, the durable state that survives a power loss.
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

/// One file or folder. An open handle keeps it alive, even if its name is removed or given to another file.
struct FileNode {
  using Names = std::map<std::string, std::shared_ptr<FileNode>>;
  explicit FileNode(bool folder) : is_folder(folder) {}

  const bool is_folder;
  WallTime modified;

  // Used only if the node is a file:
  std::string contents;
  size_t durable_bytes = 0;               // The length of the part of `contents` that is on disk.
  // Set after the file was emptied, until the next sync: the old contents, which a power loss may bring back.
  std::optional<std::string> before_cut;
  size_t lost_begin = 0, lost_end = 0;    // A failed sync dropped these bytes: they never reach the disk.
  bool held = false;                      // True while the file is locked.

  // Used only if the node is a folder:
  Names names;
  Names durable_names;

  void empty();                                       ///< Empties the file as O_TRUNC does.
  void write(size_t offset, std::string_view bytes);  ///< Writes `bytes` at `offset`, with zeros in a gap before them.
  void sync();
  void drop_unsynced();  ///< Drops unsynced bytes, as a kernel does after a failed fsync().
  void lose_power(RandomStream& random);
};

/// A tree of folders and files. Functions that return an int return 0 for success, else the number of errno.
class FileTree {
 public:
  FileTree();
  ~FileTree();
  FileTree(const FileTree&) = delete;
  FileTree& operator=(const FileTree&) = delete;

  /// What a path leads to. `number` is 0 if all folders on the way exist, and else an errno. With 0, `folder` is the folder
  /// of the path's last name (null for the root), and `node` is what has this name (null if nothing has it).
  struct Found {
    int number = 0;
    std::shared_ptr<FileNode> folder;
    std::string name;
    std::shared_ptr<FileNode> node;
    /// Returns 0 if the path leads to a file, else the errno of opening it as a file.
    int as_file() const;
    int as_folder() const;
  };
  Found find(const std::string& path) const;

  /// Makes a file or folder at the place `at`, where nothing exists yet.
  std::shared_ptr<FileNode> make(const Found& at, bool is_folder, WallTime now);
  int make_folders(const std::string& path, WallTime now, bool only_first = false);
  int rename(const std::string& from, const std::string& to, WallTime now);
  int link(const std::string& from, const std::string& to, WallTime now);
  int remove(const std::string& path, WallTime now);
  int sync_folder(const std::string& path);
  void lose_power(uint64_t seed);

  std::vector<std::string> files() const;
  uint64_t used_bytes() const;

  /// Splits "a//b/./c" into {a, b, c}; ".." removes the part before it.
  static std::vector<std::string> parts_of(const std::string& path);
  /// Returns the path of a folder as "/a/b/". The paths of everything in the folder begin with this text.
  static std::string key_of(const std::string& path);

 private:
  /// One change of a name in `folder`: `name` now means `node`. A null `node` removes the name.
  struct Edit {
    std::shared_ptr<FileNode> folder;
    std::string name;
    std::shared_ptr<FileNode> node;
    void apply(FileNode::Names& names) const;
  };
  using Change = std::vector<Edit>;  // Edits that take effect all together or not at all.
  void change(Change edits, WallTime now);

  std::shared_ptr<FileNode> root_;
  std::vector<Change> changes_;  // Changes that a power loss may still undo.
  // All folders, so that the destructor can clear them: after a power loss, folders may own each other in a cycle.
  std::vector<std::weak_ptr<FileNode>> folders_;
};

}  // namespace shoal::testing
