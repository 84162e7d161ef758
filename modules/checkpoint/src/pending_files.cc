// SPDX-License-Identifier: Apache-2.0
#include "pending_files.h"

#include <algorithm>

#include "data_file.h"
#include "five_digits.h"

namespace shoal::checkpoint {

void PendingFile::set(const DataFileWriter& file) {
  is_named = true;
  bytes = file.bytes();
  checksum = file.checksum();
}

uint32_t PendingFiles::add(FileKind kind, bool is_new) {
  const uint32_t number = uint32_t(files_.size());
  files_.push_back({.path = begin_ + five_digits(number) + ending_, .is_new = is_new, .kind = kind});
  return number;
}

size_t PendingFiles::named() const { return size_t(std::ranges::count_if(files_, &PendingFile::is_named)); }

uint64_t PendingFiles::new_bytes() const {
  uint64_t bytes = 0;
  for (const PendingFile& file : files_) bytes += file.is_named && file.is_new ? file.bytes : 0;
  return bytes;
}

}  // namespace shoal::checkpoint
