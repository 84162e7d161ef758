// SPDX-License-Identifier: Apache-2.0
#include "segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "shoal/base/exhaustion.h"

namespace shoal::transport::shm {
namespace {

// These constants are defined here, since they are newer than the oldest headers and kernels that Shoal is built for.
constexpr unsigned kNoExecute = 0x0008U;  // MFD_NOEXEC_SEAL, in Linux 6.3 or newer.
constexpr int kSealFutureWrite = 0x0010;  // F_SEAL_FUTURE_WRITE, in Linux 5.1 or newer.

Error none_left(size_t bytes, int number) {
  // The system reports ENOSPC if it may not promise so much memory. No disk is involved.
  return internal_error(std::to_string(bytes) + " bytes of shared memory could not be allocated: " +
                        system_error_text(number == ENOSPC ? ENOMEM : number));
}

File create_file() {
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  const int descriptor = ::memfd_create("shoal", kFlags | kNoExecute);
  if (descriptor >= 0 || errno != EINVAL) return File(descriptor);
  return File(::memfd_create("shoal", kFlags));
}

}  // namespace

File::~File() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Mapping::~Mapping() {
  if (base_) ::munmap(base_, bytes_);
}

Result<Segment> create_segment(size_t bytes, PeersMay peers) {
  const auto page = size_t(::sysconf(_SC_PAGESIZE));
  bytes = (bytes + page - 1) / page * page;
  Segment segment;
  segment.file = create_file();
  if (!segment.file || ::ftruncate(segment.file.get(), off_t(bytes)) != 0) return none_left(bytes, errno);
  // Reserves the memory now: writing to memory that the system cannot provide later would kill the process (SIGBUS).
  const int reserved = ::posix_fallocate(segment.file.get(), 0, off_t(bytes));
  if (reserved != 0 && reserved != EOPNOTSUPP && reserved != EINVAL) return none_left(bytes, reserved);
  void* base = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, segment.file.get(), 0);
  if (base == MAP_FAILED) return none_left(bytes, errno);
  segment.memory = Mapping(base, bytes);
  constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW;
  // Our own mapping was made before this seal, so it stays writable.
  if (peers == PeersMay::kRead) (void)::fcntl(segment.file.get(), F_ADD_SEALS, kSealFutureWrite);
  if (::fcntl(segment.file.get(), F_ADD_SEALS, kSeals | F_SEAL_SEAL) != 0) return none_left(bytes, errno);
  return segment;
}

Result<Mapping> map_segment(const File& file, size_t bytes, PeersMay access) {
  const int seals = ::fcntl(file.get(), F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) return data_loss("the memory it sent has no sealed size");
  struct stat status {};
  if (::fstat(file.get(), &status) != 0 || status.st_size < 0 || uint64_t(status.st_size) != bytes)
    return data_loss("the memory it sent has " + std::to_string(status.st_size) + " bytes instead of " +
                     std::to_string(bytes));
  const int protection = access == PeersMay::kWrite ? PROT_READ | PROT_WRITE : PROT_READ;
  void* base = ::mmap(nullptr, bytes, protection, MAP_SHARED, file.get(), 0);
  if (base == MAP_FAILED)
    return unavailable(std::to_string(bytes) + " bytes of its memory cannot be mapped: " + system_error_text(errno));
  return Mapping(base, bytes);
}

}  // namespace shoal::transport::shm
