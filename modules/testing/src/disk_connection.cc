// SPDX-License-Identifier: Apache-2.0
#include "shoal/testing/disk_connection.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "disk_file.h"
#include "disk_state.h"

namespace shoal::testing {
namespace {

using Kind = DiskCall::Kind;

/// A lock that stays held until this object is destroyed, even if its host is cut off meanwhile.
class DiskLock final : public StorageLock {
 public:
  DiskLock(std::shared_ptr<DiskState> disk, std::shared_ptr<DiskLink> link, std::string path,
           std::shared_ptr<FileNode> node)
      : disk_(std::move(disk)), link_(std::move(link)), path_(std::move(path)), node_(std::move(node)) {
    node_->held = true;
  }
  ~DiskLock() override { node_->held = false; }

  Result<bool> is_in_place() override {
    bool same = false;
    SHOAL_TRY_VOID(disk_->perform(*link_, {Kind::kRead, "look at", path_}, [&](bool) {
      const FileTree::Found found = disk_->tree.find(path_);
      same = found.node == node_;
      return found.number == ENOENT || found.number == ENOTDIR ? 0 : found.number;
    }));
    return same;
  }

 private:
  std::shared_ptr<DiskState> disk_;
  std::shared_ptr<DiskLink> link_;
  std::string path_;
  std::shared_ptr<FileNode> node_;
};

}  // namespace

DiskConnection::DiskConnection(std::shared_ptr<DiskState> disk)
    : disk_(std::move(disk)), link_(std::make_shared<DiskLink>()) {}

void DiskConnection::cut_off(bool cut) { link_->cut_off = cut; }
bool DiskConnection::is_cut_off() const { return link_->cut_off; }

void DiskConnection::see_late(Duration delay, std::function<SteadyTime()> now) {
  link_->late.reset();
  if (delay > Duration::zero()) link_->late.emplace(delay, std::move(now));
}

Duration DiskConnection::take_delay() { return std::exchange(link_->delay, Duration::zero()); }

Result<void> DiskConnection::change(const std::string& verb, const std::string& path, const Effect& effect) {
  Result<void> changed = disk_->perform(*link_, {Kind::kChange, verb, path}, effect);
  if (link_->late) link_->late->forget(path);
  return changed;
}

Result<std::unique_ptr<WritableFile>> DiskConnection::open_writable(const std::string& path, bool truncate) {
  std::shared_ptr<FileNode> node;
  const Effect effect = [&](bool) {
    const FileTree::Found found = disk_->tree.find(path);
    const int number = found.as_file();
    if (number != 0 && (found.number != 0 || number != ENOENT)) return number;
    node = found.node;
    if (!node) {
      node = disk_->tree.make(found, false, disk_->now());
    } else if (truncate) {
      node->empty();
      node->modified = disk_->now();
    }
    return 0;
  };
  // Opening an existing file for appending does not change the disk.
  const bool changes = truncate || disk_->tree.find(path).as_file() == ENOENT;
  if (changes) {
    SHOAL_TRY_VOID(change("create", path, effect));
  } else {
    SHOAL_TRY_VOID(disk_->perform(*link_, {Kind::kRead, "create", path}, effect));
  }
  return make_writable_file({disk_, link_, path, std::move(node)}, !truncate);
}

Result<std::unique_ptr<WritableFile>> DiskConnection::create(const std::string& path) { return open_writable(path, true); }
Result<std::unique_ptr<WritableFile>> DiskConnection::append(const std::string& path) { return open_writable(path, false); }

Result<std::unique_ptr<ReadableFile>> DiskConnection::open(const std::string& path) {
  LateView::Entry entry;
  const Effect effect = [&](bool) {
    const FileTree::Found found = disk_->tree.find(path);
    if (!link_->late) {
      entry.node = found.node;
      if (found.node) entry.size_bytes = found.node->contents.size();
      return found.as_file();
    }
    if (const int number = link_->late->find(disk_->tree, path, entry); number != 0) return number;
    // This host sees other hosts' changes late, so it may still see the name of a file that is gone.
    if (found.as_file() == ENOENT) return ENOENT;
    return entry.node->is_folder ? EISDIR : 0;
  };
  SHOAL_TRY_VOID(disk_->perform(*link_, {Kind::kRead, "open", path}, effect));
  return make_readable_file({disk_, link_, path, entry.node}, entry.size_bytes, link_->late.has_value());
}

Result<void> DiskConnection::rename(const std::string& from, const std::string& to) {
  const std::string verb = "rename " + from + " to";
  const Effect effect = [&](bool half) { return half ? 0 : disk_->tree.rename(from, to, disk_->now()); };
  if (link_->late) link_->late->forget(from);
  return change(verb, to, effect);
}

Result<void> DiskConnection::link(const std::string& from, const std::string& to) {
  const std::string verb = "link " + from + " as";
  return change(verb, to, [&](bool half) { return half ? 0 : disk_->tree.link(from, to, disk_->now()); });
}

Result<void> DiskConnection::remove(const std::string& path) {
  return change("remove", path, [&](bool half) { return half ? 0 : disk_->tree.remove(path, disk_->now()); });
}

Result<void> DiskConnection::remove_all(const std::string& path) {
  std::shared_ptr<FileNode> node;
  const Effect look = [&](bool) {
    const FileTree::Found found = disk_->tree.find(path);
    node = found.node;
    return found.number == ENOENT ? 0 : found.number;
  };
  SHOAL_TRY_VOID(disk_->perform(*link_, {Kind::kRead, "remove", path}, look));
  if (!node) return {};
  const FileNode::Names names = node->names;
  for (const auto& [name, below] : names) SHOAL_TRY_VOID(remove_all(join_path(path, name)));
  return remove(path);
}

Result<void> DiskConnection::make_folders(const std::string& path) {
  const Effect effect = [&](bool half) { return disk_->tree.make_folders(path, disk_->now(), half); };
  if (disk_->tree.find(path).as_folder() != 0) return change("make the folder", path, effect);
  return disk_->perform(*link_, {Kind::kRead, "make the folder", path}, effect);
}

Result<void> DiskConnection::sync_folder(const std::string& path) {
  return change("sync the folder", path, [&](bool half) { return half ? 0 : disk_->tree.sync_folder(path); });
}

Result<std::vector<FileInfo>> DiskConnection::list(const std::string& path) {
  std::vector<FileInfo> entries;
  const Effect effect = [&](bool) {
    if (link_->late) {
      LateView::Folder folder;
      if (const int number = link_->late->list(disk_->tree, path, folder); number != 0) return number;
      for (const auto& [name, entry] : folder) {
        entries.push_back({name, entry.node->is_folder, entry.size_bytes, entry.modified});
      }
      return 0;
    }
    const FileTree::Found found = disk_->tree.find(path);
    if (const int number = found.as_folder(); number != 0) return number;
    for (const auto& [name, node] : found.node->names) {
      entries.push_back({name, node->is_folder, node->contents.size(), node->modified});
    }
    return 0;
  };
  SHOAL_TRY_VOID(disk_->perform(*link_, {Kind::kRead, "list", path}, effect));
  return entries;
}

bool DiskConnection::exists(const std::string& path) {
  if (link_->cut_off) return false;
  LateView::Entry entry;
  if (link_->late) return link_->late->find(disk_->tree, path, entry) == 0;
  return disk_->tree.find(path).node != nullptr;
}

Result<std::unique_ptr<StorageLock>> DiskConnection::lock(const std::string& path, std::string_view note) {
  std::shared_ptr<FileNode> node;
  bool held = false;
  SHOAL_TRY_VOID(change("lock", path, [&](bool) {
    const FileTree::Found found = disk_->tree.find(path);
    const int number = found.as_file();
    if (number != 0 && (found.number != 0 || number != ENOENT)) return number;
    node = found.node ? found.node : disk_->tree.make(found, false, disk_->now());
    held = node->held;
    if (held) return 0;
    node->empty();
    node->contents.append(note).append("\n");
    node->modified = disk_->now();
    return 0;
  }));
  if (!held) return std::make_unique<DiskLock>(disk_, link_, path, std::move(node));
  constexpr size_t kNoteBytesMax = 512;
  const std::string all = node->contents.substr(0, kNoteBytesMax), holder = all.substr(0, all.find('\n'));
  return unavailable(path + " is held by " + (holder.empty() ? "another process" : holder));
}

Result<std::string> DiskConnection::make_temporary_folder(const std::string& prefix) {
  std::string folder;
  const Effect effect = [&](bool) {
    do {
      folder = prefix + unique_name();
    } while (disk_->tree.find(folder).node);
    const FileTree::Found found = disk_->tree.find(folder);
    if (found.number != 0) return found.number;
    disk_->tree.make(found, true, disk_->now());
    return 0;
  };
  const std::string pattern = prefix + "XXXXXX";
  SHOAL_TRY_VOID(change("make a temporary folder", pattern, effect));
  return folder;
}

std::string DiskConnection::unique_name() {
  char text[48];
  std::snprintf(text, sizeof text, "%016llx-%llu", static_cast<unsigned long long>(fold_in(disk_->options.seed, "names")),
                static_cast<unsigned long long>(disk_->next_name++));
  return text;
}

}  // namespace shoal::testing
