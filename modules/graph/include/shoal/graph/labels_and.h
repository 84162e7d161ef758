// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Labels beside what a model makes of them. Losses and metrics take both by name, labels first:
///
///   nn::squared_error({.labels = y, .predictions = net})
///
/// Two bare values in a row, in either order, do not compile: a loss of swapped values is often a number like any other.
#include "shoal/graph/graph.h"

namespace shoal {

/// The first member of an aggregate whose other members have to be named: a value without a name would have to become one of
/// these, which is an error of the compiler.
struct MembersByName {
  explicit MembersByName() = default;
};

struct LabelsAndPredictions {
  MembersByName by_name = MembersByName();
  Value labels;
  Value predictions;
};

/// Logits are numbers of any scale, of which softmax or sigmoid make probabilities.
struct LabelsAndLogits {
  MembersByName by_name = MembersByName();
  Value labels;
  Value logits;
};

}  // namespace shoal
