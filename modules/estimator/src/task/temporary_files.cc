#include "task/temporary_files.h"

#include <algorithm>

namespace shoal {
namespace {

/// The last time that anything in a file or folder changed.
WallTime last_touched(Storage& storage, const std::string& path, const FileInfo& info) {
  WallTime last = info.modified;
  if (!info.is_folder) return last;
  const auto entries = storage.list(path);
  if (!entries) return last;
  for (const FileInfo& entry : *entries) last = std::max(last, last_touched(storage, join_path(path, entry.name), entry));
  return last;
}

}  // namespace

void remove_temporary_files(Environment& env, const std::string& folder, const std::vector<std::string_view>& prefixes,
                            Duration age) {
  const auto entries = env.storage().list(folder);
  if (!entries) return;
  for (const FileInfo& entry : *entries) {
    const bool ours =
        std::any_of(prefixes.begin(), prefixes.end(), [&](auto prefix) { return entry.name.starts_with(prefix); });
    const std::string path = join_path(folder, entry.name);
    const bool young = age > Duration::zero() && env.wall_now() - last_touched(env.storage(), path, entry) < age;
    if (!ours || young) continue;
    const Result<void> removed = env.storage().remove_all(path);
    if (removed) env.log().info("removed " + path + ", which a process that was killed left unfinished");
  }
}

}  // namespace shoal
