// SPDX-License-Identifier: Apache-2.0
#include "task/temporary_files.h"

#include <algorithm>
#include <optional>

namespace shoal {
namespace {

/// The time of the latest change in a file or folder.
WallTime last_touched(Storage& storage, const std::string& path, const FileInfo& info) {
  WallTime last = info.modified;
  if (!info.is_folder) return last;
  const auto entries = storage.list(path);
  if (!entries) return last;
  for (const FileInfo& entry : *entries) last = std::max(last, last_touched(storage, join_path(path, entry.name), entry));
  return last;
}

/// Returns the present time by the clock of the machine on which `folder` lies. The times of files in the folder come from
/// that clock, which may differ from the task's own. Makes a file to read its time; returns nothing if that fails.
std::optional<WallTime> time_of(Storage& storage, const std::string& folder, std::string_view prefix) {
  const std::string name = std::string(prefix) + "now-" + storage.unique_name(), path = join_path(folder, name);
  auto file = storage.create(path);
  const Result<void> closed = file ? (*file)->close() : Result<void>(file.error());
  const auto entries = closed ? storage.list(folder) : Result<std::vector<FileInfo>>(closed.error());
  static_cast<void>(storage.remove(path).has_value());
  if (!entries) return std::nullopt;
  const auto made = std::ranges::find(*entries, name, &FileInfo::name);
  return made == entries->end() ? std::nullopt : std::optional(made->modified);
}

}  // namespace

void remove_temporary_files(Environment& env, const std::string& folder, const std::vector<std::string_view>& prefixes,
                            Duration age) {
  const auto entries = env.storage().list(folder);
  if (!entries) return;
  std::optional<WallTime> now;  // By the clock of the folder's machine. Unset until it is needed.
  for (const FileInfo& entry : *entries) {
    const bool ours =
        std::any_of(prefixes.begin(), prefixes.end(), [&](auto prefix) { return entry.name.starts_with(prefix); });
    if (!ours) continue;
    const std::string path = join_path(folder, entry.name);
    if (age > Duration::zero()) {
      if (!now) now = time_of(env.storage(), folder, prefixes.front());
      if (!now || *now - last_touched(env.storage(), path, entry) < age) continue;
    }
    const Result<void> removed = env.storage().remove_all(path);
    if (removed) env.log().info("removed " + path + ", which a process that was killed left unfinished");
  }
}

}  // namespace shoal
