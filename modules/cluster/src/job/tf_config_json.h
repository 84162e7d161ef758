// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The JSON of TF_CONFIG, strictly: what the contract names is kept, and that there is a sparseCluster; everything else is only
/// checked for syntax.
#include <string>
#include <string_view>

#include "shoal/base/result.h"
#include "shoal/json/json.h"

namespace shoal::cluster {

struct Description {
  /// An object with those of the keys cluster, task, service, model_dir and sparseCluster (empty) that there are.
  json::Json parts;
  std::string service;  ///< The value of `service`, without blanks; in `parts` it is empty.
};
/// If a key is given twice, the last one counts. InvalidArgument with the byte offset if the text is no JSON object, or
/// beyond the limits of tf_config.h.
Result<Description> parse_description(std::string_view text);

}  // namespace shoal::cluster
