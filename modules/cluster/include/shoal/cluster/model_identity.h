// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Texts that the trainers and servers of one model must agree on (identity.h has such texts for the cluster).
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/cluster/shard_plan.h"
#include "shoal/graph/meaning.h"

namespace shoal::cluster {

/// One line per variable, ordered by name: "dense/kernel: float32 [784, 10]". At most kIdentityBytesMax bytes
/// (identity.h).
std::string variables_text(std::vector<VariableSpec> variables);

/// The first difference, in words, between the variables of a model and those on a server: "variable w is float32 [2] in
/// the model of worker 1 and float32 [3] on ps 0". `text` (of variables_text()) lists the model's variables; `owner` names
/// the task that has the model. Looks only at variables that the server holds; empty if none differs.
std::string variables_difference(std::string_view text, const std::string& owner, const ShardSpec& held,
                                 const std::string& server);

/// One line for each subject that `meaning` has facts about: "feature "wood": vocabulary (4 words: ash, ...) #1f3a...".
/// Then one line for each entry of `rules`, which has other values that the model uses: "learning_rate: 0.1". At most
/// kIdentityBytesMax bytes.
std::string meaning_text(const Meaning& meaning, const std::map<std::string, std::string>& rules);

/// The first difference between two texts of meaning_text(), in words. Empty if there is none, or if a text is empty.
std::string meaning_text_difference(std::string_view text, const std::string& owner, std::string_view other_text,
                                    const std::string& other_owner);

}  // namespace shoal::cluster
