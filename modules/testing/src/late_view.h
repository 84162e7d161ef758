// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A host's view of the folders of a disk, in which the listing of each folder is cached for a while.
#include <functional>
#include <map>
#include <string>

#include "file_tree.h"

namespace shoal::testing {

class LateView {
 public:
  LateView(Duration delay, std::function<SteadyTime()> now) : delay_(delay), now_(std::move(now)) {}

  /// The file or folder that a name stood for when this host last looked at the folder that contains the name.
  struct Entry {
    std::shared_ptr<FileNode> node;
    uint64_t size_bytes = 0;
    WallTime modified;
  };
  using Folder = std::map<std::string, Entry>;

  /// Finds the entry at `path`. Returns 0 or an errno.
  int find(const FileTree& tree, const std::string& path, Entry& entry);
  int list(const FileTree& tree, const std::string& path, Folder& folder);
  /// Drops the cached listings of all folders on the way to `path` and below, because this host changed something there.
  void forget(const std::string& path);

 private:
  struct Look {
    std::shared_ptr<FileNode> folder;
    SteadyTime taken;
    Folder names;
  };
  const Folder& look(const std::string& key, const std::shared_ptr<FileNode>& folder);

  Duration delay_;
  std::function<SteadyTime()> now_;
  std::map<std::string, Look> looks_;  // Keyed by the path of the folder, as "/a/b/".
};

}  // namespace shoal::testing
