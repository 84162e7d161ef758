// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Describes in words how hashed ids are computed, for programs that compute them outside of Shoal.
#include <string>
#include <string_view>

#include "shoal/convert/trained_model.h"
#include "shoal/graph/text_ids.h"

namespace shoal::convert {

/// True if texts become ids by their hash, either all texts or those that the vocabulary lacks.
bool hashes(const TextEncoding& encoding);

/// The feature whose values enter the graph at the input node of this name; null if there is none.
const NamedValue* feature_at(const TrainedModel& model, std::string_view node);

/// Says in words how the ids of this node are computed. The node is one that text_ids() made, or a "cross_ids".
std::string words_of_hash(const TrainedModel& model, const Node& node);

}  // namespace shoal::convert
