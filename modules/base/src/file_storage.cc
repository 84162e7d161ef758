// SPDX-License-Identifier: Apache-2.0
// Storage on the file system of this machine, by POSIX calls.
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <system_error>

#include "shoal/base/missing_path.h"
#include "shoal/base/storage.h"

namespace shoal {
namespace {

template <class Call>
auto retry_interrupted(Call call) {
  for (;;) {
    const auto result = call();
    if (result >= 0 || errno != EINTR) return result;
  }
}

class PosixWritableFile final : public WritableFile {
 public:
  PosixWritableFile(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}
  ~PosixWritableFile() override {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  Result<void> append(std::span<const std::byte> bytes) override {
    if (failure_) return *failure_;
    if (descriptor_ < 0) return failed_precondition("cannot write " + path_ + ": the file was closed");
    if (buffer_.size() + bytes.size() > kBufferBytes) SHOAL_TRY_VOID(flush());
    if (bytes.size() >= kBufferBytes) return write(bytes);
    buffer_.reserve(kBufferBytes);
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
    return {};
  }

  Result<void> flush() override {
    if (failure_) return *failure_;
    SHOAL_TRY_VOID(write(buffer_));
    buffer_.clear();
    return {};
  }

  Result<void> sync() override {
    SHOAL_TRY_VOID(flush());
    // A failed fsync drops the pages that were not written. A second fsync would succeed, although these pages are lost.
    // So fail() stores the error, and later calls return it, too.
    if (retry_interrupted([&] { return ::fsync(descriptor_); }) != 0 && errno != EINVAL) return fail("sync", errno);
    return {};
  }

  Result<void> close() override {
    if (descriptor_ < 0) return {};
    Result<void> flushed = flush();
    // A failed close is not repeated: another file may have the same descriptor number by then.
    const int closed = ::close(std::exchange(descriptor_, -1));
    if (!flushed) return flushed;
    if (closed != 0 && errno != EINTR) return fail("close", errno);
    return {};
  }

 private:
  static constexpr size_t kBufferBytes = 64 * 1024;  // Many small appends (events) become few system calls.

  Result<void> write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t count = retry_interrupted([&] { return ::write(descriptor_, bytes.data(), bytes.size()); });
      if (count < 0) return fail("write", errno);
      bytes = bytes.subspan(size_t(count));
    }
    return {};
  }
  Error fail(std::string_view verb, int number) {
    failure_ = machine_path_error(verb, path_, number);
    return *failure_;
  }

  int descriptor_;
  std::string path_;
  std::vector<std::byte> buffer_;
  std::optional<Error> failure_;  // The first failure. After it the contents of the file are not known.
};

class PosixReadableFile final : public ReadableFile {
 public:
  PosixReadableFile(int descriptor, std::string path, uint64_t size)
      : descriptor_(descriptor), path_(std::move(path)), size_(size) {}
  ~PosixReadableFile() override { ::close(descriptor_); }

  uint64_t size() const override { return size_; }
  Result<void> read_at(uint64_t offset, std::span<std::byte> out) const override {
    while (!out.empty()) {
      const ssize_t count = retry_interrupted([&] { return ::pread(descriptor_, out.data(), out.size(), off_t(offset)); });
      if (count < 0) return machine_path_error("read", path_, errno);
      if (count == 0) {
        return data_loss(path_ + ": ends at byte " + std::to_string(size_) + ", but " + std::to_string(out.size()) +
                         " bytes from " + std::to_string(offset) + " are needed; the file was cut");
      }
      offset += uint64_t(count);
      out = out.subspan(size_t(count));
    }
    return {};
  }

 private:
  int descriptor_;
  std::string path_;
  uint64_t size_;
};

Result<std::unique_ptr<WritableFile>> open_writable(const std::string& path, int extra_flags) {
  SHOAL_TRY_VOID(check_path(path));
  const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | extra_flags;
  const int descriptor = retry_interrupted([&] { return ::open(path.c_str(), flags, 0666); });
  if (descriptor < 0) return machine_path_error("create", path, errno);
  return std::make_unique<PosixWritableFile>(descriptor, path);
}

/// A lock by flock(): Linux passes it on to NFS and SMB servers, and frees it when the process ends.
class PosixLock final : public StorageLock {
 public:
  PosixLock(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}
  ~PosixLock() override { ::close(descriptor_); }

  Result<bool> is_in_place() override {
    struct stat held {
    }, named{};
    if (::fstat(descriptor_, &held) != 0) return machine_path_error("look at", path_, errno);
    if (::stat(path_.c_str(), &named) != 0) {
      if (errno == ENOENT || errno == ENOTDIR) return false;
      return machine_path_error("look at", path_, errno);
    }
    return held.st_dev == named.st_dev && held.st_ino == named.st_ino;
  }

 private:
  int descriptor_;
  std::string path_;
};

std::string first_line_of(int descriptor) {
  char text[512];
  const ssize_t count = retry_interrupted([&] { return ::pread(descriptor, text, sizeof text, 0); });
  const std::string_view all(text, size_t(std::max<ssize_t>(0, count)));
  return std::string(all.substr(0, all.find('\n')));
}

/// Whether `number` is an errno by which a file system, or its server, says that it does not support locks. Some pass on
/// 524, the kernel's internal ENOTSUPP, which has no name in user programs.
bool has_no_locks(int number) {
  constexpr int kInternalNotSupported = 524;
  constexpr int kNone[] = {ENOLCK, EOPNOTSUPP, ENOSYS, EIO, EINVAL, EPROTONOSUPPORT, kInternalNotSupported};
  return std::ranges::find(kNone, number) != std::end(kNone);
}

bool is_refusal_of_access(int number) { return number == EACCES || number == EPERM || number == EROFS; }

struct LockFile {
  int descriptor = -1;
  bool is_writable = true;
};

/// Opens the file of a lock for writing. If another user owns the file, opens it for reading, which is enough for a lock.
Result<LockFile> open_lock_file(const std::string& path) {
  SHOAL_TRY_VOID(check_path(path));
  const int descriptor = retry_interrupted([&] { return ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666); });
  if (descriptor >= 0) return LockFile{descriptor, true};
  const int number = errno;
  if (!is_refusal_of_access(number)) return machine_path_error("lock", path, number);
  const int read_only = retry_interrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); });
  if (read_only >= 0) return LockFile{read_only, false};
  return invalid_argument(machine_path_error("lock", path, number).message());
}

Result<std::unique_ptr<StorageLock>> lock_file(const std::string& path, std::string_view note) {
  SHOAL_TRY(const LockFile file, open_lock_file(path));
  const int descriptor = file.descriptor;
  auto lock = std::make_unique<PosixLock>(descriptor, path);
  if (retry_interrupted([&] { return ::flock(descriptor, LOCK_EX | LOCK_NB); }) != 0) {
    const int number = errno;
    if (has_no_locks(number)) {
      return failed_precondition("cannot lock " + path + ": " + std::generic_category().message(number) +
                                 "; its file system has no locks, which keep two tasks from writing there at once: "
                                 "mount it with locks, or choose a folder elsewhere");
    }
    // NFS gives such a lock only to those who may write the file.
    if (number == EBADF && !file.is_writable) return invalid_argument(machine_path_error("lock", path, EACCES).message());
    if (number != EWOULDBLOCK) return machine_path_error("lock", path, number);
    const std::string holder = first_line_of(descriptor);
    return unavailable(path + " is held by " + (holder.empty() ? "another process" : holder));
  }
  if (!file.is_writable) return lock;  // The file keeps the note of an earlier holder, since this process cannot write it.
  const std::string line = std::string(note) + "\n";
  if (::ftruncate(descriptor, 0) != 0 ||
      retry_interrupted([&] { return ::pwrite(descriptor, line.data(), line.size(), 0); }) != ssize_t(line.size()))
    return machine_path_error("write", path, errno);
  return lock;
}

FileInfo info_of(int folder, const char* name) {
  FileInfo info;
  info.name = name;
  struct stat status {};
  // A link to a missing file is still an entry.
  if (::fstatat(folder, name, &status, 0) != 0 && ::fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0) return info;
  info.is_folder = S_ISDIR(status.st_mode);
  info.size_bytes = info.is_folder ? 0 : uint64_t(status.st_size);
  info.modified = WallTime(std::chrono::seconds(status.st_mtim.tv_sec) + Duration(status.st_mtim.tv_nsec));
  return info;
}

class FileStorage final : public Storage {
 public:
  Result<std::unique_ptr<WritableFile>> create(const std::string& path) override { return open_writable(path, O_TRUNC); }
  Result<std::unique_ptr<WritableFile>> append(const std::string& path) override { return open_writable(path, O_APPEND); }

  Result<std::unique_ptr<ReadableFile>> open(const std::string& path) override {
    SHOAL_TRY_VOID(check_path(path));
    // Non-blocking, so that opening a pipe does not wait for its writer. Ordinary files ignore the flag.
    const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
    const int descriptor = retry_interrupted([&] { return ::open(path.c_str(), flags); });
    if (descriptor < 0) return machine_path_error("open", path, errno);
    struct stat status {};
    const bool known = ::fstat(descriptor, &status) == 0;
    if (!known || !S_ISREG(status.st_mode)) {
      const Error error = !known                    ? machine_path_error("open", path, errno)
                          : S_ISDIR(status.st_mode) ? machine_path_error("open", path, EISDIR)
                                                    : failed_precondition("cannot open " + path + ": not a regular file");
      ::close(descriptor);
      return error;
    }
    return std::make_unique<PosixReadableFile>(descriptor, path, uint64_t(status.st_size));
  }

  Result<void> rename(const std::string& from, const std::string& to) override {
    if (::rename(from.c_str(), to.c_str()) != 0) return machine_path_error("rename " + from + " to", to, errno);
    return {};
  }

  Result<void> link(const std::string& from, const std::string& to) override {
    // If `from` is a symbolic link, its target gets the second name, not the link: the link may be someone else's.
    if (::linkat(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), AT_SYMLINK_FOLLOW) != 0) {
      return machine_path_error("link " + from + " as", to, errno);
    }
    return {};
  }

  Result<void> remove(const std::string& path) override {
    if (std::remove(path.c_str()) != 0) return machine_path_error("remove", path, errno);
    return {};
  }

  Result<void> remove_all(const std::string& path) override {
    SHOAL_TRY_VOID(check_path(path));
    std::error_code error;
    std::filesystem::remove_all(path, error);
    if (error) return machine_path_error("remove", path, error.value());
    return {};
  }

  Result<void> make_folders(const std::string& path) override {
    SHOAL_TRY_VOID(check_path(path));
    std::error_code error;
    std::filesystem::create_directories(path, error);
    if (error) return machine_path_error("make the folder", path, error.value());
    return {};
  }

  Result<void> sync_folder(const std::string& path) override {
    SHOAL_TRY_VOID(check_path(path));
    const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
    const int descriptor = retry_interrupted([&] { return ::open(path.c_str(), flags); });
    if (descriptor < 0) return machine_path_error("sync the folder", path, errno);
    // EINVAL: this file system does not sync folders.
    const bool failed = retry_interrupted([&] { return ::fsync(descriptor); }) != 0 && errno != EINVAL;
    const int number = errno;
    ::close(descriptor);
    if (failed) return machine_path_error("sync the folder", path, number);
    return {};
  }

  Result<std::vector<FileInfo>> list(const std::string& path) override {
    SHOAL_TRY_VOID(check_path(path));
    std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path.c_str()), ::closedir);
    if (!folder) return machine_path_error("list", path, errno);
    std::vector<FileInfo> entries;
    for (;;) {
      errno = 0;
      const dirent* entry = ::readdir(folder.get());
      if (!entry) break;
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") entries.push_back(info_of(::dirfd(folder.get()), entry->d_name));
    }
    if (errno != 0) return machine_path_error("list", path, errno);
    std::ranges::sort(entries, {}, &FileInfo::name);
    return entries;
  }

  bool exists(const std::string& path) override { return ::access(path.c_str(), F_OK) == 0; }

  Result<std::unique_ptr<StorageLock>> lock(const std::string& path, std::string_view note) override {
    return lock_file(path, note);
  }

  Result<std::string> make_temporary_folder(const std::string& prefix) override {
    std::string folder = prefix + "XXXXXX";
    if (!::mkdtemp(folder.data())) return machine_path_error("make a temporary folder", prefix + "XXXXXX", errno);
    return folder;
  }

  std::string full_path(const std::string& path) override {
    std::error_code failed;
    const std::filesystem::path absolute = std::filesystem::absolute(path, failed);
    if (failed) return path;  // The working folder was removed.
    const std::filesystem::path followed = std::filesystem::weakly_canonical(absolute, failed);
    return Storage::full_path(failed ? absolute.string() : followed.string());
  }

  std::string unique_name() override {
    char text[48];
    std::snprintf(text, sizeof text, "%016llx-%llu", static_cast<unsigned long long>(id_),
                  static_cast<unsigned long long>(next_++));
    return text;
  }

 private:
  static uint64_t random_id() {
    uint64_t id = 0;
    SHOAL_CHECK(::getentropy(&id, sizeof id) == 0);
    return id;
  }
  const uint64_t id_ = random_id();
  std::atomic<uint64_t> next_{0};
};

}  // namespace

std::unique_ptr<Storage> make_file_storage() { return std::make_unique<FileStorage>(); }

}  // namespace shoal
