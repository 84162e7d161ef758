// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What a model computes with beside its meaning (shoal/graph/meaning.h): constants, means, rates, update rules. A change
/// of these is a change that people make on purpose, so a later start only tells of it.
#include <map>
#include <string>
#include <string_view>

#include "shoal/base/result.h"
#include "shoal/graph/graph.h"
#include "shoal/nn/train_op.h"

namespace shoal {

/// Each key says in words what its value belongs to ("constants of input_layer", "learning_rate"); the value is a number or a
/// hash.
using Rest = std::map<std::string, std::string>;

/// The rest of a model in training. It has the constants that the loss is computed from, by their outermost scopes, without
/// variables and without the meaning; the versions of the user's own ops; the constants below the updates of an optimizer
/// of the user's own; the scalars of the train op at a few steps; and its update rules. The same program gives the same
/// rest on every machine.
Rest rest_of(Value loss, const nn::TrainOp& train_op);

/// The versions of the user's own ops that `graph` has nodes of, as rest_of() has them.
Rest op_versions_of(const Graph& graph);
/// Which of a user's own ops `graph` has in another version than the model that `recorded` (encode_rest()) is of: "op my_bend
/// (version 1 there, version 2 in this program)". Ops that only one of the two has do not count. Empty: none, or nothing is known.
std::string op_version_difference(std::string_view recorded, const Graph& graph);
/// The same for the versions that a catalogue has, whatever of them is used.
std::string op_version_difference(std::string_view recorded, const OpCatalogue& catalogue);

/// One line of JSON: {"version":1,"rest":{...}}.
std::string encode_rest(const Rest& rest);
/// DataLoss says what is wrong with a text that encode_rest() did not write.
Result<Rest> decode_rest(std::string_view text);

/// "constants of input_layer, learning_rate (0.1 before, 0.01 now)"; empty if nothing differs.
std::string rest_difference(const Rest& before, const Rest& now);

}  // namespace shoal
