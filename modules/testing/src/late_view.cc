// SPDX-License-Identifier: Apache-2.0
#include "late_view.h"

#include <cerrno>

namespace shoal::testing {

const LateView::Folder& LateView::look(const std::string& key, const std::shared_ptr<FileNode>& folder) {
  Look& look = looks_[key];
  if (look.folder == folder && now_() - look.taken < delay_) return look.names;
  look = {folder, now_(), {}};
  for (const auto& [name, node] : folder->names) look.names[name] = {node, node->contents.size(), node->modified};
  return look.names;
}

int LateView::find(const FileTree& tree, const std::string& path, Entry& entry) {
  entry = {tree.find("/").node, 0, {}};
  if (path.empty()) return ENOENT;
  std::string key = "/";
  for (const std::string& part : FileTree::parts_of(path)) {
    if (!entry.node->is_folder) return ENOTDIR;
    const Folder& names = look(key, entry.node);
    const auto at = names.find(part);
    if (at == names.end()) return ENOENT;
    entry = at->second;
    key += part + "/";
  }
  return 0;
}

int LateView::list(const FileTree& tree, const std::string& path, Folder& folder) {
  Entry entry;
  if (const int number = find(tree, path, entry); number != 0) return number;
  if (!entry.node->is_folder) return ENOTDIR;
  folder = look(FileTree::key_of(path), entry.node);
  return 0;
}

void LateView::forget(const std::string& path) {
  const std::string key = FileTree::key_of(path);
  std::erase_if(looks_, [&](const auto& each) { return key.starts_with(each.first) || each.first.starts_with(key); });
}

}  // namespace shoal::testing
