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

}  // namespace

Result<std::unique_ptr<StorageLock>> lock_model_dir(Environment& env, const std::string& model_dir) {
  auto lock = env.storage().lock(join_path(model_dir, "training_lock"), holder(env));
  if (lock) return lock;
  if (lock.error().kind() == ErrorKind::kFailedPrecondition) {
    env.log().warning("model_dir " + model_dir + " is not protected against a second run: " + lock.error().message());
    return std::unique_ptr<StorageLock>();
  }
  env.sometimes("model_dir.held");
  return std::move(lock).error().with_context(
      "model_dir " + model_dir +
      " is in use, and two runs would overwrite each other's checkpoints; wait until "
      "that one has ended, or choose another model_dir");
}

}  // namespace shoal
