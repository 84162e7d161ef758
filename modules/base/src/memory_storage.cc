// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/memory_storage.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "shoal/base/path_error.h"

namespace shoal {
namespace {

/// A file or a folder. Open files keep their node, even if its name is removed or renamed.
struct Node {
  explicit Node(bool folder) : is_folder(folder) { touch(); }
  void touch() { modified = read_wall_clock(); }

  const bool is_folder;
  WallTime modified;
  std::string contents;                                // Empty for a folder.
  bool held = false;                                   // True while a lock holds the file.
  std::map<std::string, std::shared_ptr<Node>> names;  // Empty for a file.
};
using NodePtr = std::shared_ptr<Node>;

/// Splits a path: "a//b/./c" gives {a, b, c}; ".." removes the last part.
std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    std::string part = path.substr(begin, end - begin);
    if (part == "..") {
      if (!parts.empty()) parts.pop_back();
    } else if (!part.empty() && part != ".") {
      parts.push_back(std::move(part));
    }
    begin = end + 1;
  }
  return parts;
}

/// What the look-up of a path found. `number` is the errno value of a failed look-up.
struct Found {
  int number = 0;  ///< An errno value; 0 if every folder on the path exists.
  NodePtr folder;  ///< The folder that contains the path's last name. Null for the root, which has no name.
  std::string name;
  NodePtr node;  ///< The file or folder at the path that was looked up. Null if only the last name is missing.

  int as_file() const { return number != 0 ? number : !node ? ENOENT : node->is_folder ? EISDIR : 0; }
  int as_folder() const { return number != 0 ? number : !node ? ENOENT : node->is_folder ? 0 : ENOTDIR; }
  void give(NodePtr what) const {
    folder->names[name] = std::move(what);
    folder->touch();
  }
  void take_away() const {
    folder->names.erase(name);
    folder->touch();
  }
};

/// The state that a storage shares with its open files and locks.
struct Shared {
  explicit Shared(uint64_t capacity) : capacity_bytes(capacity) {}

  Found find(const std::string& path) const {
    constexpr size_t kNameBytesMax = 255;
    Found found;
    found.node = root;
    if (path.empty()) return {.number = ENOENT, .folder = {}, .name = {}, .node = {}};
    for (std::string& part : parts_of(path)) {
      if (!found.node || !found.node->is_folder || part.size() > kNameBytesMax) {
        found.number = !found.node ? ENOENT : !found.node->is_folder ? ENOTDIR : ENAMETOOLONG;
        return found;
      }
      found.folder = std::move(found.node);
      found.name = std::move(part);
      const auto at = found.folder->names.find(found.name);
      found.node = at == found.folder->names.end() ? nullptr : at->second;
    }
    return found;
  }
  /// The bytes of all files below `folder` except those already in `counted`, since a file may have several names.
  static uint64_t bytes_below(const Node& folder, std::set<const Node*>& counted) {
    uint64_t bytes = 0;
    for (const auto& [name, node] : folder.names) {
      if (node->is_folder) {
        bytes += bytes_below(*node, counted);
      } else if (counted.insert(node.get()).second) {
        bytes += node->contents.size();
      }
    }
    return bytes;
  }
  bool has_room_for(size_t bytes) const {
    if (capacity_bytes == std::numeric_limits<uint64_t>::max()) return true;
    std::set<const Node*> counted;
    return bytes_below(*root, counted) + bytes <= capacity_bytes;
  }

  const uint64_t capacity_bytes;
  std::mutex mutex;
  // `mutex` guards all members below and the contents of all nodes.
  const NodePtr root = std::make_shared<Node>(true);
  uint64_t next_name = 0;
};

/// Collects small appends, as files on a disk do: they are lost if the writer is destroyed without close().
class Writer final : public WritableFile {
 public:
  Writer(std::shared_ptr<Shared> shared, NodePtr node, std::string path, bool at_end)
      : shared_(std::move(shared)), node_(std::move(node)), path_(std::move(path)), at_end_(at_end) {}

  Result<void> append(std::span<const std::byte> bytes) override {
    if (failure_) return *failure_;
    if (closed_) return failed_precondition("cannot write " + path_ + ": the file was closed");
    if (buffer_.size() + bytes.size() > kBufferBytes) SHOAL_TRY_VOID(flush());
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (bytes.size() >= kBufferBytes) return write(text);
    buffer_ += text;
    return {};
  }
  Result<void> flush() override {
    if (failure_) return *failure_;
    if (!buffer_.empty()) SHOAL_TRY_VOID(write(buffer_));
    buffer_.clear();
    return {};
  }
  Result<void> sync() override {
    SHOAL_TRY_VOID(flush());
    return closed_ ? fail("sync", EBADF) : Result<void>();
  }
  Result<void> close() override {
    if (closed_) return {};
    Result<void> flushed = flush();
    closed_ = true;
    return flushed;
  }

 private:
  static constexpr size_t kBufferBytes = 64 * 1024;

  Result<void> write(std::string_view bytes) {
    const std::lock_guard lock(shared_->mutex);
    std::string& contents = node_->contents;
    const size_t offset = at_end_ ? contents.size() : offset_;
    if (!shared_->has_room_for(bytes.size())) return fail("write", ENOSPC);
    if (contents.size() < offset + bytes.size()) contents.resize(offset + bytes.size());
    contents.replace(offset, bytes.size(), bytes);
    offset_ = offset + bytes.size();
    node_->touch();
    return {};
  }
  Error fail(std::string_view verb, int number) {
    failure_ = path_error(verb, path_, number);
    return *failure_;
  }

  const std::shared_ptr<Shared> shared_;
  const NodePtr node_;
  const std::string path_;
  const bool at_end_;
  size_t offset_ = 0;
  std::string buffer_;
  std::optional<Error> failure_;
  bool closed_ = false;
};

class Reader final : public ReadableFile {
 public:
  Reader(std::shared_ptr<Shared> shared, NodePtr node, std::string path)
      : shared_(std::move(shared)), node_(std::move(node)), path_(std::move(path)), size_(node_->contents.size()) {}

  uint64_t size() const override { return size_; }
  Result<void> read_at(uint64_t offset, std::span<std::byte> out) const override {
    const std::lock_guard lock(shared_->mutex);
    const std::string& contents = node_->contents;
    const size_t begin = size_t(std::min<uint64_t>(offset, contents.size()));
    const size_t count = std::min(out.size(), contents.size() - begin);
    if (count > 0) std::memcpy(out.data(), contents.data() + begin, count);
    if (count == out.size()) return {};
    return data_loss(path_ + ": ends at byte " + std::to_string(size_) + ", but " + std::to_string(out.size() - count) +
                     " bytes from " + std::to_string(offset + count) + " are needed; the file was cut");
  }

 private:
  const std::shared_ptr<Shared> shared_;
  const NodePtr node_;
  const std::string path_;
  const uint64_t size_;  // The size when the file was opened.
};

class Lock final : public StorageLock {
 public:
  Lock(std::shared_ptr<Shared> shared, NodePtr node, std::string path)
      : shared_(std::move(shared)), node_(std::move(node)), path_(std::move(path)) {}
  ~Lock() override {
    const std::lock_guard lock(shared_->mutex);
    node_->held = false;
  }
  Result<bool> is_in_place() override {
    const std::lock_guard lock(shared_->mutex);
    return shared_->find(path_).node == node_;
  }

 private:
  const std::shared_ptr<Shared> shared_;
  const NodePtr node_;
  const std::string path_;
};

class MemoryStorage final : public Storage {
 public:
  explicit MemoryStorage(const MemoryStorageOptions& options) : shared_(std::make_shared<Shared>(options.capacity_bytes)) {}

  Result<std::unique_ptr<WritableFile>> create(const std::string& path) override { return open_writable(path, true); }
  Result<std::unique_ptr<WritableFile>> append(const std::string& path) override { return open_writable(path, false); }
  Result<std::unique_ptr<ReadableFile>> open(const std::string& path) override;
  Result<void> rename(const std::string& from, const std::string& to) override;
  Result<void> link(const std::string& from, const std::string& to) override;
  Result<void> remove(const std::string& path) override;
  Result<void> remove_all(const std::string& path) override;
  Result<void> make_folders(const std::string& path) override;
  Result<void> sync_folder(const std::string& path) override;
  Result<std::vector<FileInfo>> list(const std::string& path) override;
  bool exists(const std::string& path) override {
    const std::lock_guard lock(shared_->mutex);
    const Found found = shared_->find(path);
    return found.number == 0 && found.node;
  }
  Result<std::unique_ptr<StorageLock>> lock(const std::string& path, std::string_view note) override;
  Result<std::string> make_temporary_folder(const std::string& prefix) override;
  std::string unique_name() override {
    const std::lock_guard lock(shared_->mutex);
    return next_name();
  }

 private:
  Result<std::unique_ptr<WritableFile>> open_writable(const std::string& path, bool truncate);
  /// Returns the file at `path`, and makes it if only its name is missing. Call it with the mutex locked.
  Result<NodePtr> file_at(std::string_view verb, const std::string& path);
  std::string next_name() { return "memory-" + std::to_string(shared_->next_name++); }

  const std::shared_ptr<Shared> shared_;
};

Result<NodePtr> MemoryStorage::file_at(std::string_view verb, const std::string& path) {
  SHOAL_TRY_VOID(check_path(path));
  const Found found = shared_->find(path);
  const int number = found.as_file();
  const bool is_missing = found.number == 0 && number == ENOENT;
  if (number != 0 && !is_missing) return path_error(verb, path, number);
  if (!is_missing) return found.node;
  auto node = std::make_shared<Node>(false);
  found.give(node);
  return node;
}

Result<std::unique_ptr<WritableFile>> MemoryStorage::open_writable(const std::string& path, bool truncate) {
  const std::lock_guard lock(shared_->mutex);
  SHOAL_TRY(NodePtr node, file_at("create", path));
  if (truncate) {
    node->contents.clear();
    node->touch();
  }
  return std::make_unique<Writer>(shared_, std::move(node), path, !truncate);
}

Result<std::unique_ptr<ReadableFile>> MemoryStorage::open(const std::string& path) {
  SHOAL_TRY_VOID(check_path(path));
  const std::lock_guard lock(shared_->mutex);
  const Found found = shared_->find(path);
  if (const int number = found.as_file(); number != 0) return path_error("open", path, number);
  return std::make_unique<Reader>(shared_, found.node, path);
}

Result<void> MemoryStorage::rename(const std::string& from, const std::string& to) {
  const std::lock_guard lock(shared_->mutex);
  const Found source = shared_->find(from), target = shared_->find(to);
  const std::vector<std::string> from_parts = parts_of(from), to_parts = parts_of(to);
  const auto [from_at, to_at] = std::ranges::mismatch(from_parts, to_parts);
  const auto number = [&, from_left = from_at != from_parts.end(), to_left = to_at != to_parts.end()] {
    if (source.number != 0 || target.number != 0) return source.number != 0 ? source.number : target.number;
    if (!source.node) return ENOENT;
    if (!source.folder || !target.folder) return EBUSY;
    if (!from_left && to_left && source.node->is_folder) return EINVAL;  // A folder cannot move into itself.
    if (from_left && !to_left) return ENOTEMPTY;                         // `to` is a folder that contains `from`.
    if (!target.node || target.node == source.node) return 0;
    if (source.node->is_folder != target.node->is_folder) return source.node->is_folder ? ENOTDIR : EISDIR;
    return target.node->names.empty() ? 0 : ENOTEMPTY;
  }();
  if (number != 0) return path_error("rename " + from + " to", to, number);
  if (source.node == target.node) return {};
  source.take_away();
  target.give(source.node);
  return {};
}

Result<void> MemoryStorage::link(const std::string& from, const std::string& to) {
  const std::lock_guard lock(shared_->mutex);
  const Found source = shared_->find(from), target = shared_->find(to);
  const auto number = [&] {
    if (source.number != 0 || target.number != 0) return source.number != 0 ? source.number : target.number;
    if (!source.node) return ENOENT;
    return source.node->is_folder ? EPERM : target.node ? EEXIST : 0;
  }();
  if (number != 0) return path_error("link " + from + " as", to, number);
  target.give(source.node);
  return {};
}

Result<void> MemoryStorage::remove(const std::string& path) {
  const std::lock_guard lock(shared_->mutex);
  const Found found = shared_->find(path);
  int number = found.number;
  if (number == 0) number = !found.node ? ENOENT : !found.folder ? EBUSY : found.node->names.empty() ? 0 : ENOTEMPTY;
  if (number != 0) return path_error("remove", path, number);
  found.take_away();
  return {};
}

Result<void> MemoryStorage::remove_all(const std::string& path) {
  SHOAL_TRY_VOID(check_path(path));
  const std::lock_guard lock(shared_->mutex);
  const Found found = shared_->find(path);
  if (found.number == ENOENT || (found.number == 0 && !found.node)) return {};
  const int number = found.number != 0 ? found.number : found.folder ? 0 : EBUSY;
  if (number != 0) return path_error("remove", path, number);
  found.take_away();
  return {};
}

Result<void> MemoryStorage::make_folders(const std::string& path) {
  SHOAL_TRY_VOID(check_path(path));
  const std::lock_guard lock(shared_->mutex);
  if (path.empty()) return path_error("make the folder", path, ENOENT);
  std::string reached;
  for (const std::string& part : parts_of(path)) {
    reached += "/" + part;
    const Found found = shared_->find(reached);
    const int number = found.as_folder();
    if (number == 0) continue;
    if (found.number != 0 || number != ENOENT) return path_error("make the folder", path, number);
    found.give(std::make_shared<Node>(true));
  }
  return {};
}

Result<void> MemoryStorage::sync_folder(const std::string& path) {
  SHOAL_TRY_VOID(check_path(path));
  const std::lock_guard lock(shared_->mutex);
  if (const int number = shared_->find(path).as_folder(); number != 0) return path_error("sync the folder", path, number);
  return {};
}

Result<std::vector<FileInfo>> MemoryStorage::list(const std::string& path) {
  SHOAL_TRY_VOID(check_path(path));
  const std::lock_guard lock(shared_->mutex);
  const Found found = shared_->find(path);
  if (const int number = found.as_folder(); number != 0) return path_error("list", path, number);
  std::vector<FileInfo> entries;
  for (const auto& [name, node] : found.node->names) {
    entries.push_back({name, node->is_folder, node->contents.size(), node->modified});
  }
  return entries;
}

Result<std::unique_ptr<StorageLock>> MemoryStorage::lock(const std::string& path, std::string_view note) {
  const std::lock_guard lock(shared_->mutex);
  SHOAL_TRY(NodePtr node, file_at("lock", path));
  if (node->held) {
    const std::string holder = node->contents.substr(0, node->contents.find('\n'));
    return unavailable(path + " is held by " + (holder.empty() ? "another process" : holder));
  }
  node->held = true;
  node->contents.assign(note).append("\n");
  node->touch();
  return std::make_unique<Lock>(shared_, std::move(node), path);
}

Result<std::string> MemoryStorage::make_temporary_folder(const std::string& prefix) {
  const std::lock_guard lock(shared_->mutex);
  for (;;) {
    const std::string folder = prefix + next_name();
    const Found found = shared_->find(folder);
    if (found.number == 0 && found.node) continue;
    if (found.number != 0) return path_error("make a temporary folder", prefix + "XXXXXX", found.number);
    found.give(std::make_shared<Node>(true));
    return folder;
  }
}

}  // namespace

std::unique_ptr<Storage> make_memory_storage(MemoryStorageOptions options) {
  return std::make_unique<MemoryStorage>(options);
}

Result<void> copy_folder(Storage& from, const std::string& from_folder, Storage& to, const std::string& to_folder) {
  SHOAL_TRY(const std::vector<FileInfo> entries, from.list(from_folder));
  SHOAL_TRY_VOID(to.make_folders(to_folder));
  for (const FileInfo& entry : entries) {
    const std::string source = join_path(from_folder, entry.name), target = join_path(to_folder, entry.name);
    if (entry.is_folder) {
      SHOAL_TRY_VOID(copy_folder(from, source, to, target));
    } else {
      SHOAL_TRY(const std::string contents, from.read_all(source, std::numeric_limits<uint64_t>::max()));
      SHOAL_TRY_VOID(to.write_atomically(target, contents));
    }
  }
  return {};
}

}  // namespace shoal
