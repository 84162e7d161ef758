// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The steps of which safe writes of files consist, on any Storage.
#include <string>
#include <string_view>

#include "shoal/base/storage.h"

namespace shoal {

/// The folder of a file: "a/b" for "a/b/c", "." for "c", "/" for "/c".
std::string folder_of(const std::string& path);

/// Makes the file `path` with these contents, which are on disk when the call returns without an error. The name of the file is
/// on disk only after Storage::sync_folder(). Errors: those of Storage.
Result<void> write_synced(Storage& storage, const std::string& path, std::string_view contents);

}  // namespace shoal
