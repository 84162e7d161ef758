// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Folders that a power loss cannot take away again.
#include <string>

#include "shoal/base/storage.h"

namespace shoal {

/// Storage::make_folders(), and then the folders that hold the new ones are synced: syncing a file and its folder does not
/// keep the folder itself. So is the one that holds `path` if nothing is new, since a process that was killed may have made
/// `path` a moment ago. A folder that may be written and not read cannot be synced, and is not.
///
/// Errors: as Storage::make_folders() and sync_folder().
Result<void> make_durable_folder(Storage& storage, const std::string& path);

}  // namespace shoal
