// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Makes folders that survive a power loss.
#include <string>

#include "shoal/base/storage.h"

namespace shoal {

/// Makes the folder `path` and its missing parents (Storage::make_folders()), then syncs each folder that contains a new
/// one: syncing a file and its folder does not preserve the folder's own entry. If `path` exists already, its parent is
/// synced all the same, since a process that was killed may have made `path` a moment ago. A folder that this process may
/// write but not read cannot be synced, and is left out.
///
/// Errors: as Storage::make_folders() and sync_folder().
Result<void> make_durable_folder(Storage& storage, const std::string& path);

}  // namespace shoal
