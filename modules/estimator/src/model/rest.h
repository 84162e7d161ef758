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

/// By what it is about, in words ("constants of input_layer", "learning_rate"): a number, or a hash.
using Rest = std::map<std::string, std::string>;

/// Of a model in training: what the loss is computed from, by outermost scopes, without variables and what the meaning has;
/// the versions of ops of one's own; what a train op of one's own computes; the scalars of its train op, looked at for a few steps; its update rules. The same program gives the same on every
/// machine.
Rest rest_of(Value loss, const nn::TrainOp& train_op);

/// One line of JSON: {"version":1,"rest":{...}}.
std::string encode_rest(const Rest& rest);
/// DataLoss says what is wrong with a text that encode_rest() did not write.
Result<Rest> decode_rest(std::string_view text);

/// "constants of input_layer, learning_rate (0.1 before, 0.01 now)"; empty if nothing differs.
std::string rest_difference(const Rest& before, const Rest& now);

}  // namespace shoal
