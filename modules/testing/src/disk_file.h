// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Open files of a simulated disk.
#include <memory>
#include <optional>
#include <string>

#include "disk_state.h"

namespace shoal::testing {

struct OpenFile {
  std::shared_ptr<DiskState> disk;
  std::shared_ptr<DiskLink> link;
  std::string path;
  std::shared_ptr<FileNode> node;
};

/// `at_end`: each write goes to the file's end at that time; otherwise each goes behind the previous one of this writer.
std::unique_ptr<WritableFile> make_writable_file(OpenFile file, bool at_end);
/// `size`: the file's size as the opening host knows it. `only_known`: the reader returns no bytes beyond `size`.
std::unique_ptr<ReadableFile> make_readable_file(OpenFile file, uint64_t size, bool only_known);

}  // namespace shoal::testing
