// SPDX-License-Identifier: Apache-2.0
#include "model/open_checkpoint.h"

#include "shoal/checkpoint/directory.h"

namespace shoal {

Result<std::unique_ptr<checkpoint::Reader>> open_checkpoint(Environment& env, const std::string& model_dir,
                                                            const std::optional<std::string>& prefix) {
  if (prefix) return checkpoint::Reader::open(env.storage(), *prefix);
  const auto warn = [&env](const std::string& sentence) { env.log().warning(sentence); };
  auto newest = checkpoint::open_newest(env.storage(), model_dir, warn);
  if (newest) return newest;
  env.log().error("checkpoint: " + newest.error().message());
  return data_loss(newest.error().message());
}

Result<std::shared_ptr<const checkpoint::Reader>> open_checkpoint(Environment& env, const Estimator& estimator,
                                                                  const std::optional<std::string>& prefix) {
  const auto& held = estimator.held_checkpoint_;
  if (held && held->prefix() == prefix) return held;
  SHOAL_TRY(auto opened, open_checkpoint(env, estimator.model_dir(), prefix));
  return std::shared_ptr<const checkpoint::Reader>(std::move(opened));
}

}  // namespace shoal
