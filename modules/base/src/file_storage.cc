// Storage on the file system of this machine, by POSIX calls.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <system_error>

#include "shoal/base/storage.h"

namespace shoal {
namespace {

/// "cannot `verb` `path`: `cause`; what to do", of the kind that the error number means.
Error path_error(std::string_view verb, const std::string& path, int number) {
  std::string sentence = "cannot ";
  sentence.append(verb).append(" ").append(path).append(": ").append(std::generic_category().message(number));
  switch (number) {
    case ENOENT:
      return not_found(std::move(sentence));
    case EACCES:
    case EPERM:
      return failed_precondition(sentence + "; check the owner and the permissions, or choose another folder");
    case EROFS:
      return failed_precondition(sentence + "; choose a folder that can be written");
    case ENOTDIR:
      return failed_precondition(sentence + "; a part of this path is a file");
    case EISDIR:
    case EEXIST:
    case ENOTEMPTY:
    case ENAMETOOLONG:
    case ELOOP:
    case EINVAL:
    case EXDEV:
      return failed_precondition(std::move(sentence));
    case ENOSPC:
    case EDQUOT:
      return unavailable(sentence + "; free some space");
    default:
      return unavailable(std::move(sentence));
  }
}

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
    // A failed fsync drops the dirty pages: a second one would succeed and lie. So the failure stays.
    if (retry_interrupted([&] { return ::fsync(descriptor_); }) != 0 && errno != EINVAL) return fail("sync", errno);
    return {};
  }

  Result<void> close() override {
    if (descriptor_ < 0) return {};
    Result<void> flushed = flush();
    const int closed = ::close(std::exchange(descriptor_, -1));  // never repeated: the number may be another file's
    if (!flushed) return flushed;
    if (closed != 0 && errno != EINTR) return fail("close", errno);
    return {};
  }

 private:
  static constexpr size_t kBufferBytes = 64 * 1024;  // many small appends (events) become few system calls

  Result<void> write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t count = retry_interrupted([&] { return ::write(descriptor_, bytes.data(), bytes.size()); });
      if (count < 0) return fail("write", errno);
      bytes = bytes.subspan(size_t(count));
    }
    return {};
  }
  Error fail(std::string_view verb, int number) {
    failure_ = path_error(verb, path_, number);
    return *failure_;
  }

  int descriptor_;
  std::string path_;
  std::vector<std::byte> buffer_;
  std::optional<Error> failure_;  // the first one: what the file holds after it is not known
};

class PosixReadableFile final : public ReadableFile {
 public:
  PosixReadableFile(int descriptor, std::string path, uint64_t size)
      : descriptor_(descriptor), path_(std::move(path)), size_(size) {}
  ~PosixReadableFile() override { ::close(descriptor_); }

  uint64_t size() const override { return size_; }
  Result<void> read_at(uint64_t offset, std::span<std::byte> out) const override {
    while (!out.empty()) {
      const ssize_t count =
          retry_interrupted([&] { return ::pread(descriptor_, out.data(), out.size(), off_t(offset)); });
      if (count < 0) return path_error("read", path_, errno);
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
  const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | extra_flags;
  const int descriptor = retry_interrupted([&] { return ::open(path.c_str(), flags, 0666); });
  if (descriptor < 0) return path_error("create", path, errno);
  return std::make_unique<PosixWritableFile>(descriptor, path);
}

FileInfo info_of(int folder, const char* name) {
  FileInfo info;
  info.name = name;
  struct stat status{};
  // A link that leads nowhere is still an entry.
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
    // Non-blocking, so that a pipe of this name cannot hold us; ordinary files do not care.
    const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
    const int descriptor = retry_interrupted([&] { return ::open(path.c_str(), flags); });
    if (descriptor < 0) return path_error("open", path, errno);
    struct stat status{};
    const bool known = ::fstat(descriptor, &status) == 0;
    if (!known || !S_ISREG(status.st_mode)) {
      const Error error = !known                     ? path_error("open", path, errno)
                          : S_ISDIR(status.st_mode) ? path_error("open", path, EISDIR)
                                                    : failed_precondition("cannot open " + path + ": not a regular file");
      ::close(descriptor);
      return error;
    }
    return std::make_unique<PosixReadableFile>(descriptor, path, uint64_t(status.st_size));
  }

  Result<void> rename(const std::string& from, const std::string& to) override {
    if (::rename(from.c_str(), to.c_str()) != 0) return path_error("rename " + from + " to", to, errno);
    return {};
  }

  Result<void> remove(const std::string& path) override {
    if (std::remove(path.c_str()) != 0) return path_error("remove", path, errno);
    return {};
  }

  Result<void> remove_all(const std::string& path) override {
    std::error_code error;
    std::filesystem::remove_all(path, error);
    if (error) return path_error("remove", path, error.value());
    return {};
  }

  Result<void> make_folders(const std::string& path) override {
    std::error_code error;
    std::filesystem::create_directories(path, error);
    if (error) return path_error("make the folder", path, error.value());
    return {};
  }

  Result<void> sync_folder(const std::string& path) override {
    const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
    const int descriptor = retry_interrupted([&] { return ::open(path.c_str(), flags); });
    if (descriptor < 0) return path_error("sync the folder", path, errno);
    // EINVAL: this file system keeps no folders to sync.
    const bool failed = retry_interrupted([&] { return ::fsync(descriptor); }) != 0 && errno != EINVAL;
    const int number = errno;
    ::close(descriptor);
    if (failed) return path_error("sync the folder", path, number);
    return {};
  }

  Result<std::vector<FileInfo>> list(const std::string& path) override {
    std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path.c_str()), ::closedir);
    if (!folder) return path_error("list", path, errno);
    std::vector<FileInfo> entries;
    for (;;) {
      errno = 0;
      const dirent* entry = ::readdir(folder.get());
      if (!entry) break;
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") entries.push_back(info_of(::dirfd(folder.get()), entry->d_name));
    }
    if (errno != 0) return path_error("list", path, errno);
    std::ranges::sort(entries, {}, &FileInfo::name);
    return entries;
  }

  bool exists(const std::string& path) override { return ::access(path.c_str(), F_OK) == 0; }
};

}  // namespace

std::unique_ptr<Storage> make_file_storage() { return std::make_unique<FileStorage>(); }

}  // namespace shoal
