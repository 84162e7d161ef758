// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Shared memory without a name (memfd). The system frees it when the last process that has mapped it ends, even if that
/// process is killed.
#include <cstddef>
#include <utility>

#include "shoal/base/result.h"

namespace shoal::transport::shm {

/// Owns a file descriptor.
class File {
 public:
  File() = default;
  explicit File(int descriptor) : descriptor_(descriptor) {}
  File(File&& other) noexcept : descriptor_(other.release()) {}
  File& operator=(File&& other) noexcept { return std::swap(descriptor_, other.descriptor_), *this; }
  ~File();
  explicit operator bool() const { return descriptor_ >= 0; }
  int get() const { return descriptor_; }
  int release() { return std::exchange(descriptor_, -1); }

 private:
  int descriptor_ = -1;
};

/// Memory that is mapped into this process while the object lives.
class Mapping {
 public:
  Mapping() = default;
  Mapping(void* base, size_t bytes) : base_(static_cast<std::byte*>(base)), bytes_(bytes) {}
  Mapping(Mapping&& other) noexcept : base_(std::exchange(other.base_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Mapping();
  std::byte* data() const { return base_; }
  size_t bytes() const { return bytes_; }

 private:
  std::byte* base_ = nullptr;
  size_t bytes_ = 0;
};

struct Segment {
  File file;
  Mapping memory;
};

enum class PeersMay : uint8_t { kRead, kWrite };

/// Makes zeroed memory of whole pages, at least `bytes`. Its size is sealed, so nobody can change it and make an access
/// fail. With kRead, no other process can map it for writing (Linux 5.1 or newer; older kernels cannot prevent it).
/// Internal if a limit of the system is met: memory, descriptors, or the size of files (ulimit -f). The sentence names the
/// limit. The kind is not Unavailable: a task that connected again and again would meet the same limit each time.
Result<Segment> create_segment(size_t bytes, PeersMay peers);

/// Maps memory that a peer made. DataLoss unless it has exactly `bytes` bytes and a sealed size; Unavailable if the address
/// space is used up.
Result<Mapping> map_segment(const File& file, size_t bytes, PeersMay access);

}  // namespace shoal::transport::shm
