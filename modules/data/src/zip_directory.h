// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The directory of a zip archive, which lies behind its members.
#include <vector>

#include "shoal/base/storage.h"
#include "zip_entry.h"

namespace shoal::data {

/// All members, in the order of the directory. The errors are those of ZipArchive::open(), without the name of the file.
Result<std::vector<ZipEntry>> read_zip_directory(const ReadableFile& file);

}  // namespace shoal::data
