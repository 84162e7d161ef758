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
  /// A JSON object with the members cluster, task, service, model_dir and sparseCluster, as far as TF_CONFIG has them. The
  /// contents of sparseCluster are left out.
  json::Json parts;
  std::string service;  ///< The value of the member `service` as text, without blanks. In `parts` this member is empty.
};
/// If a key is given twice, the last one counts. InvalidArgument, with the byte offset, if the text is no JSON object
/// or exceeds a limit of tf_config.h.
Result<Description> parse_description(std::string_view text);

}  // namespace shoal::cluster
