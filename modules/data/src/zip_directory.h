// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Reads the directory of a zip archive: the list of its members, at the end of the file.
#include <vector>

#include "shoal/base/storage.h"
#include "zip_entry.h"

namespace shoal::data {

/// Returns all members, in the order of the directory. Errors are those of ZipArchive::open(), but do not name the file.
Result<std::vector<ZipEntry>> read_zip_directory(const ReadableFile& file);

}  // namespace shoal::data
