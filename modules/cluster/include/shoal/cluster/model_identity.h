// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What trainers and servers of one model must have alike, as text (as identity.h does it for the tasks).
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/cluster/shard_plan.h"
#include "shoal/graph/meaning.h"

namespace shoal::cluster {

/// One line per variable, by name: "dense/kernel: float32 [784, 10]". At most kIdentityBytesMax (identity.h).
std::string variables_text(std::vector<VariableSpec> variables);

/// The first thing in words that the variables of a model (of `owner`, as variables_text()) and those of them that a server
/// holds disagree on: "variable w is float32 [2] in the model of worker 1 and float32 [3] on ps 0". Empty if there is none
/// among those that the server holds.
std::string variables_difference(std::string_view text, const std::string& owner, const ShardSpec& held,
                                 const std::string& server);

/// One line per subject: "feature "wood": vocabulary (4 words: ash, ...) #1f3a...", and below that those of `rest`, what else
/// the model computes with, by name: "learning_rate: 0.1". At most kIdentityBytesMax.
std::string meaning_text(const Meaning& meaning, const std::map<std::string, std::string>& rest);

/// The first thing in words that two texts of meaning_text() disagree on. Empty if there is none, or one of them is.
std::string meaning_text_difference(std::string_view text, const std::string& owner, std::string_view other_text,
                                    const std::string& other_owner);

}  // namespace shoal::cluster
