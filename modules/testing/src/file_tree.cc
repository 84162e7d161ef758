// SPDX-License-Identifier: Apache-2.0
#include "file_tree.h"

#include <algorithm>
#include <cerrno>
#include <functional>
#include <set>
#include <string_view>

namespace shoal::testing {

void FileNode::empty() {
  if (!before_cut) before_cut = contents.substr(0, durable_bytes);
  contents.clear();
  durable_bytes = lost_begin = lost_end = 0;
}

void FileNode::write(size_t offset, std::string_view bytes) {
  durable_bytes = std::min({durable_bytes, contents.size(), offset});
  if (contents.size() < offset + bytes.size()) contents.resize(offset + bytes.size());
  contents.replace(offset, bytes.size(), bytes);
}

void FileNode::sync() {
  durable_bytes = contents.size();
  before_cut.reset();
}

void FileNode::drop_unsynced() {
  if (durable_bytes == contents.size()) return;
  lost_begin = lost_begin == lost_end ? durable_bytes : std::min(lost_begin, durable_bytes);
  lost_end = contents.size();
}

void FileNode::lose_power(RandomStream& random) {
  if (before_cut && random.below(2) == 0) {
    contents = *before_cut;
  } else {
    const size_t unsynced = contents.size() - std::min(durable_bytes, contents.size());
    contents.resize(contents.size() - unsynced + size_t(random.below(unsynced + 1)));
    for (size_t i = lost_begin; i < std::min(lost_end, contents.size()); ++i) contents[i] = '\0';
  }
  lost_begin = lost_end = 0;
  sync();
}

FileTree::FileTree() : root_(std::make_shared<FileNode>(true)) { folders_.push_back(root_); }

FileTree::~FileTree() {
  for (const auto& weak : folders_) {
    if (const auto folder = weak.lock()) {
      folder->names.clear();
      folder->durable_names.clear();
    }
  }
}

std::string FileTree::key_of(const std::string& path) {
  std::string key = "/";
  for (const std::string& part : parts_of(path)) key += part + "/";
  return key;
}

std::vector<std::string> FileTree::parts_of(const std::string& path) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view part = std::string_view(path).substr(begin, end - begin);
    if (part == "..") {
      if (!parts.empty()) parts.pop_back();
    } else if (!part.empty() && part != ".") {
      parts.emplace_back(part);
    }
    begin = end + 1;
  }
  return parts;
}

int FileTree::Found::as_file() const {
  if (number != 0) return number;
  if (!node) return ENOENT;
  return node->is_folder ? EISDIR : 0;
}

int FileTree::Found::as_folder() const {
  if (number != 0) return number;
  if (!node) return ENOENT;
  return node->is_folder ? 0 : ENOTDIR;
}

FileTree::Found FileTree::find(const std::string& path) const {
  constexpr size_t kNameBytesMax = 255;
  Found found;
  found.node = root_;
  if (path.empty()) return {.number = ENOENT};
  for (std::string& part : parts_of(path)) {
    if (!found.node) return {.number = ENOENT};
    if (!found.node->is_folder) return {.number = ENOTDIR};
    if (part.size() > kNameBytesMax) return {.number = ENAMETOOLONG};
    found.folder = std::move(found.node);
    found.name = std::move(part);
    const auto at = found.folder->names.find(found.name);
    found.node = at == found.folder->names.end() ? nullptr : at->second;
  }
  return found;
}

void FileTree::Edit::apply(FileNode::Names& names) const {
  if (node) {
    names[name] = node;
  } else {
    names.erase(name);
  }
}

void FileTree::change(Change edits, WallTime now) {
  for (const Edit& edit : edits) {
    edit.apply(edit.folder->names);
    edit.folder->modified = now;
  }
  changes_.push_back(std::move(edits));
}

std::shared_ptr<FileNode> FileTree::make(const Found& at, bool is_folder, WallTime now) {
  auto node = std::make_shared<FileNode>(is_folder);
  node->modified = now;
  if (is_folder) folders_.push_back(node);
  change({{at.folder, at.name, node}}, now);
  return node;
}

int FileTree::make_folders(const std::string& path, WallTime now, bool only_first) {
  std::string reached;
  for (const std::string& part : parts_of(path)) {
    reached += "/" + part;
    const Found found = find(reached);
    if (found.number != 0) return found.number;
    if (found.node && !found.node->is_folder) return ENOTDIR;
    if (found.node) continue;
    make(found, true, now);
    if (only_first) return 0;
  }
  return path.empty() ? ENOENT : 0;
}

int FileTree::rename(const std::string& from, const std::string& to, WallTime now) {
  const Found source = find(from), target = find(to);
  if (source.number != 0 || target.number != 0) return source.number != 0 ? source.number : target.number;
  if (!source.node) return ENOENT;
  if (!source.folder || !target.folder) return EBUSY;
  const std::vector<std::string> from_parts = parts_of(from), to_parts = parts_of(to);
  const auto [from_at, to_at] = std::ranges::mismatch(from_parts, to_parts);
  if (from_at == from_parts.end() && to_at == to_parts.end()) return 0;
  if (from_at == from_parts.end() && source.node->is_folder) return EINVAL;
  if (to_at == to_parts.end()) return ENOTEMPTY;
  if (target.node == source.node) return 0;  // Both are names of one file. POSIX says that both stay.
  if (target.node) {
    if (source.node->is_folder != target.node->is_folder) return source.node->is_folder ? ENOTDIR : EISDIR;
    if (!target.node->names.empty()) return ENOTEMPTY;
  }
  change({{source.folder, source.name, nullptr}, {target.folder, target.name, source.node}}, now);
  return 0;
}

int FileTree::link(const std::string& from, const std::string& to, WallTime now) {
  const Found source = find(from), target = find(to);
  if (source.number != 0 || target.number != 0) return source.number != 0 ? source.number : target.number;
  if (!source.node) return ENOENT;
  if (source.node->is_folder) return EPERM;
  if (target.node) return EEXIST;
  change({{target.folder, target.name, source.node}}, now);
  return 0;
}

int FileTree::remove(const std::string& path, WallTime now) {
  const Found found = find(path);
  if (found.number != 0) return found.number;
  if (!found.node) return ENOENT;
  if (!found.folder) return EBUSY;
  if (!found.node->names.empty()) return ENOTEMPTY;
  change({{found.folder, found.name, nullptr}}, now);
  return 0;
}

int FileTree::sync_folder(const std::string& path) {
  const Found found = find(path);
  if (const int number = found.as_folder(); number != 0) return number;
  // The changes of a folder reach the disk in the order in which they were made. A rename from one folder to another
  // changes both. So before it reaches the disk, all earlier changes of both folders have to reach it, too.
  std::set<const FileNode*> folders{found.node.get()};
  std::vector<Change> synced, left;
  for (auto change = changes_.rbegin(); change != changes_.rend(); ++change) {
    const bool touched =
        std::ranges::any_of(*change, [&](const Edit& edit) { return folders.contains(edit.folder.get()); });
    if (touched) {
      for (const Edit& edit : *change) folders.insert(edit.folder.get());
    }
    (touched ? synced : left).push_back(std::move(*change));
  }
  for (auto change = synced.rbegin(); change != synced.rend(); ++change) {
    for (const Edit& edit : *change) edit.apply(edit.folder->durable_names);
  }
  changes_.assign(std::make_move_iterator(left.rbegin()), std::make_move_iterator(left.rend()));
  return 0;
}

void FileTree::lose_power(uint64_t seed) {
  RandomStream random(fold_in(seed, "power"));
  const size_t kept = size_t(random.below(changes_.size() + 1));
  for (size_t i = 0; i < changes_.size(); ++i) {
    const bool survives = seed % 2 == 1 ? i < kept : random.below(2) == 0;
    if (!survives) continue;
    for (const Edit& edit : changes_[i]) edit.apply(edit.folder->durable_names);
  }
  changes_.clear();
  std::set<const FileNode*> reached{root_.get()};
  const std::function<void(FileNode&)> restore = [&](FileNode& folder) {
    // A folder may have only one name. If the changes that survive the power loss give it two names, the second is dropped,
    // as a file system check does.
    std::erase_if(folder.durable_names,
                  [&](const auto& entry) { return entry.second->is_folder && !reached.insert(entry.second.get()).second; });
    folder.names = folder.durable_names;
    for (const auto& [name, node] : folder.names) {
      if (node->is_folder) {
        restore(*node);
      } else {
        node->lose_power(random);
      }
    }
  };
  restore(*root_);
  std::erase_if(folders_, [&](const std::weak_ptr<FileNode>& weak) {
    const auto folder = weak.lock();
    if (folder && reached.contains(folder.get())) return false;
    if (folder) {
      folder->names.clear();
      folder->durable_names.clear();
    }
    return true;
  });
}

namespace {

template <class Visit>
void for_each_file(const FileNode& folder, const std::string& path, const Visit& visit) {
  for (const auto& [name, node] : folder.names) {
    if (node->is_folder) {
      for_each_file(*node, path + name + "/", visit);
    } else {
      visit(path + name, *node);
    }
  }
}

}  // namespace

std::vector<std::string> FileTree::files() const {
  std::vector<std::string> paths;
  for_each_file(*root_, "", [&](const std::string& path, const FileNode&) { paths.push_back(path); });
  std::ranges::sort(paths);
  return paths;
}

uint64_t FileTree::used_bytes() const {
  uint64_t bytes = 0;
  std::set<const FileNode*> counted;  // A file may have several names, but counts once.
  for_each_file(*root_, "", [&](const std::string&, const FileNode& file) {
    if (counted.insert(&file).second) bytes += file.contents.size();
  });
  return bytes;
}

}  // namespace shoal::testing
