// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The rules of a model: all that it computes with, such as constants, means, rates and update rules, except for what its
/// ids and logits stand for (shoal/graph/meaning.h). People change these on purpose, so a later start only reports a
/// change.
#include <map>
#include <string>
#include <string_view>

#include "shoal/base/result.h"
#include "shoal/graph/graph.h"
#include "shoal/nn/train_op.h"

namespace shoal {

/// Constants and rules of a model, each under a name for people ("constants of input_layer", "learning_rate"). A value is a
/// number or a hash, as text.
using ModelRules = std::map<std::string, std::string>;

/// Returns the constants and rules of a model in training: the constants from which the loss is computed, by their
/// outermost scopes; the versions of the user's own ops; the constants in the updates of a user's own optimizer; the
/// scalars of the train op at a few steps; and its update rules. Leaves out variables, and all that graph/meaning.h records
/// (vocabularies, classes). The same program gives the same result on every machine.
ModelRules rules_of(Value loss, const nn::TrainOp& train_op);

/// The versions of the user's own ops that have nodes in `graph`, in the form that rules_of() uses.
ModelRules op_versions_of(const Graph& graph);
/// Lists the user's own ops whose version in `graph` is another one than in the model that `recorded` describes: "op
/// my_bend (version 1 there, version 2 in this program)". `recorded` is a text of encode_rules(). Leaves out ops that only
/// one of the two models has. Empty: no version differs, or `recorded` has no versions.
std::string op_version_difference(std::string_view recorded, const Graph& graph);
/// Like op_version_difference() of a graph, but compares the versions of all of the user's ops in `catalogue`, whether a
/// graph uses them or not.
std::string op_version_difference(std::string_view recorded, const OpCatalogue& catalogue);

/// Writes one line of JSON: {"version":1,"rest":{...}}.
std::string encode_rules(const ModelRules& rules);
/// Reads the text of encode_rules(). DataLoss says what is wrong with any other text.
Result<ModelRules> decode_rules(std::string_view text);

/// Describes the differences: "layers that are gone: p; new layers: q; constants of input_layer, learning_rate (0.1 before,
/// 0.01 now)". Empty if there are none.
std::string rules_difference(const ModelRules& before, const ModelRules& now);

}  // namespace shoal
