// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A strict parser for the JSON of TF_CONFIG. It keeps the members that Shoal reads, and checks everything else for
/// syntax only.
#include <string>
#include <string_view>

#include "shoal/base/result.h"
#include "shoal/json/json.h"

namespace shoal::cluster {

struct Description {
  /// An object with the members cluster, task, service, model_dir and sparseCluster (its contents dropped), if the text
  /// has them.
  json::Json parts;
  std::string service;  ///< The value of `service`, without blanks; in `parts` it is empty.
};
/// If a key is given twice, the last one counts. InvalidArgument, with the byte offset, if the text is no JSON object
/// or exceeds a limit of tf_config.h.
Result<Description> parse_description(std::string_view text);

}  // namespace shoal::cluster
