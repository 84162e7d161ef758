// SPDX-License-Identifier: Apache-2.0
#include "task/folder_lock.h"

#include "shoal/base/utc_text.h"

namespace shoal {
namespace {

std::string holder(Environment& env) {
  const std::string& task = env.log().task();
  return (task.empty() ? "a local run" : task) + " on " + env.process().host_name + " (process " +
         std::to_string(env.process().process_id) + ") since " + utc_text(env.wall_now());
}

/// Locks the file `name` in `folder`. If the file system has no locks, returns null, and logs a warning that calls the folder
/// `what` ("model_dir").
Result<std::unique_ptr<StorageLock>> lock_if_possible(Environment& env, const std::string& folder, std::string_view name,
                                                      const std::string& what) {
  auto lock = env.storage().lock(join_path(folder, name), holder(env));
  if (lock || lock.error().kind() != ErrorKind::kFailedPrecondition) return lock;
  env.log().warning(what + " " + folder + " is not protected against a second run: " + lock.error().message());
  return std::unique_ptr<StorageLock>();
}

}  // namespace

Result<std::unique_ptr<StorageLock>> lock_model_dir(Environment& env, const std::string& model_dir) {
  auto lock = lock_if_possible(env, model_dir, "training_lock", "model_dir");
  if (lock || lock.error().kind() != ErrorKind::kUnavailable) return lock;
  if (lock.error().system_error() != 0) {  // Nobody holds the lock: a system call has failed.
    return std::move(lock).error().with_context("model_dir " + model_dir + " cannot be locked");
  }
  env.sometimes("model_dir.held");
  return std::move(lock).error().with_context(
      "model_dir " + model_dir +
      " is in use, and two runs would overwrite each other's checkpoints; wait until "
      "that one has ended, or choose another model_dir");
}

Result<std::unique_ptr<StorageLock>> lock_spare_folder(Environment& env, const std::string& folder) {
  return lock_if_possible(env, folder, "spare_lock", "the spare folder");
}

}  // namespace shoal
