// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Folders of a disk as a host knows them that looks only now and then.
#include <functional>
#include <map>
#include <string>

#include "file_tree.h"

namespace shoal::testing {

class LateView {
 public:
  LateView(Duration delay, std::function<SteadyTime()> now) : delay_(delay), now_(std::move(now)) {}

  /// One name in a folder as it was when this host looked.
  struct Entry {
    std::shared_ptr<FileNode> node;
    uint64_t size_bytes = 0;
    WallTime modified;
  };
  using Folder = std::map<std::string, Entry>;

  /// 0 and the entry, or the number of the error.
  int find(const FileTree& tree, const std::string& path, Entry& entry);
  int list(const FileTree& tree, const std::string& path, Folder& folder);
  /// This host changed something at `path`: all folders on the way there and below are looked at anew.
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
  std::map<std::string, Look> looks_;  // Keyed by "/a/b/" of the folder.
};

}  // namespace shoal::testing
