// SPDX-License-Identifier: Apache-2.0
#include "task/run_seed.h"

#include "shoal/checkpoint/run_file.h"

namespace shoal {

std::optional<int64_t> seed_of_run(Environment& env, const RunConfig& config, const std::string& model_dir) {
  if (config.random_seed()) return config.random_seed();
  const Result<std::optional<checkpoint::RunFile>> run = checkpoint::read_run(env.storage(), model_dir);
  if (!run) {
    env.log().warning_once("seed of run",
                           "the seed of the run is not known, so another one is drawn: " + run.error().message());
    return std::nullopt;
  }
  return *run ? std::optional((*run)->seed) : std::nullopt;
}

RandomKey graph_seed(Environment& env, const std::optional<int64_t>& seed) {
  return seed ? RandomKey(*seed) : env.entropy();
}

}  // namespace shoal
