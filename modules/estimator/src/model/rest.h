// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The "rest" of a model: everything that it computes with besides its meaning (shoal/graph/meaning.h), such as constants,
/// means, rates and update rules. People change these on purpose, so a later start only reports a change.
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

/// The versions of the user's own ops that have nodes in `graph`, in the form that rest_of() uses.
Rest op_versions_of(const Graph& graph);
/// The user's own ops that `graph` has in another version than the model that `recorded` (encode_rest()) describes: "op
/// my_bend (version 1 there, version 2 in this program)". Ops that only one of the two has do not count. Empty: there are
/// none, or nothing is known.
std::string op_version_difference(std::string_view recorded, const Graph& graph);
/// Compares all of the user's ops in a catalogue, whether a graph uses them or not; returns a text as the function above.
std::string op_version_difference(std::string_view recorded, const OpCatalogue& catalogue);

/// One line of JSON: {"version":1,"rest":{...}}.
std::string encode_rest(const Rest& rest);
/// Reads the text of encode_rest(). DataLoss says what is wrong with any other text.
Result<Rest> decode_rest(std::string_view text);

/// "constants of input_layer, learning_rate (0.1 before, 0.01 now)"; empty if nothing differs.
std::string rest_difference(const Rest& before, const Rest& now);

}  // namespace shoal
