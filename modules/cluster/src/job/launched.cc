// SPDX-License-Identifier: Apache-2.0
#include "shoal/cluster/launched.h"

#include "job/resolvers/variables.h"

namespace shoal::cluster {

bool was_launched(const GetEnv& getenv) {
  const bool by_tf_config = variable(getenv, "SHOAL_SOURCE") == std::string(to_string(ConfigSource::kTfConfig));
  return by_tf_config && is_set(getenv, "TF_CONFIG") && is_set(getenv, "SHOAL_REPORT_FILE");
}

}  // namespace shoal::cluster
