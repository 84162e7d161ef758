// SPDX-License-Identifier: Apache-2.0
#include "launch/size.h"

#include <algorithm>

namespace shoal::cli::launch {

Result<FittedSize> fit_named_size(const std::string& name, int trainers_max, const std::string& room) {
  if (name != "basic" && name != "standard" && name != "premium") {
    return invalid_argument("--size: \"" + name +
                            "\" is none of basic, standard, premium; for other sizes give --ps, --workers and --evaluator");
  }
  SHOAL_TRY(const cluster::ClusterSize named, cluster::parse_cluster_size(name));
  FittedSize fitted{.size = named};
  if (named.workers == 0) return fitted;
  cluster::ClusterSize& size = fitted.size;
  size.workers = std::clamp(trainers_max - 1, 1, named.workers);
  size.ps = std::max(1, (named.ps * size.workers + named.workers - 1) / named.workers);
  if (size != named) {
    fitted.warning = "the size " + name + " is " + to_string(named) + ", which is more than " + room +
                     " can train with: it is cut to " + to_string(size) +
                     " (--ps and --workers say another number exactly)";
  }
  return fitted;
}

}  // namespace shoal::cli::launch
