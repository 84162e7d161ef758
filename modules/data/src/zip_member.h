// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The bytes of one member of a zip archive.
#include "byte_source.h"
#include "zip_entry.h"

namespace shoal::data {

/// The packed bytes of `entry` begin at offset `begin` of `file`, and lie in the file, which must outlive the result. The
/// other errors are those of ZipArchive::open().
Result<std::unique_ptr<ByteSource>> open_zip_member(const ReadableFile& file, const ZipEntry& entry, uint64_t begin);

}  // namespace shoal::data
