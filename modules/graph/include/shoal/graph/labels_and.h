// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Pairs of labels and a model's output. Losses and metrics take both by name, labels first:
///
///   nn::squared_error({.labels = y, .predictions = net})
///
/// Two values without these names, as in squared_error({y, net}), do not compile: swapped by mistake, they would often give
/// a loss that looks plausible.
#include "shoal/graph/graph.h"

namespace shoal {

/// A struct with a first member of this type can only be initialized with named members: `{labels, logits}` would have to
/// convert `labels` to this type, which does not compile.
struct MembersByName {
  explicit MembersByName() = default;
};

struct LabelsAndPredictions {
  MembersByName by_name = MembersByName();
  Value labels;
  Value predictions;
};

/// Logits are numbers of any scale, which softmax or sigmoid turns into probabilities.
struct LabelsAndLogits {
  MembersByName by_name = MembersByName();
  Value labels;
  Value logits;
};

}  // namespace shoal
