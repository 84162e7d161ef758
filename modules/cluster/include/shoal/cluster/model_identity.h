#pragma once
/// What trainers and servers of one model must have alike, as text (as identity.h does it for the tasks).
#include <string>
#include <string_view>
#include <vector>

#include "shoal/cluster/shard_plan.h"

namespace shoal::cluster {

/// One line per variable, by name: "dense/kernel: float32 [784, 10]". At most kIdentityBytesMax (identity.h).
std::string variables_text(std::vector<VariableSpec> variables);

/// The first thing in words that the variables of a model (of `owner`, as variables_text()) and those of them that a server
/// holds disagree on: "variable w is float32 [2] in the model of worker 1 and float32 [3] on ps 0". Empty if there is none
/// among those that the server holds.
std::string variables_difference(std::string_view text, const std::string& owner, const ShardSpec& held,
                                 const std::string& server);

}  // namespace shoal::cluster
