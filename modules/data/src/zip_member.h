// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The bytes of one member of a zip archive.
#include "byte_source.h"
#include "zip_entry.h"

namespace shoal::data {

/// Opens the member `entry`, whose packed bytes begin at offset `begin` of `file` and must lie within `file`. The file
/// must outlive the result. Errors are those of ZipArchive::open(entry).
Result<std::unique_ptr<ByteSource>> open_zip_member(const ReadableFile& file, const ZipEntry& entry, uint64_t begin);

}  // namespace shoal::data
