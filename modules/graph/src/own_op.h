// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Checks user-defined ops and their nodes, so that the rules and kernels of these ops can rely on valid attributes.
#include <span>
#include <vector>

#include "shoal/graph/op.h"

namespace shoal {

/// InvalidArgument if OpDef::version or OpDef::attributes break the rules of OpCatalogue::add().
Result<void> check_attribute_defs(const OpDef& op);

/// Completes the attributes of a node: adds defaults for missing ones, and the version of the op. InvalidArgument for
/// an attribute that the op does not take, one of a wrong type, NaN, or a missing one that is required;
/// FailedPrecondition if the node has another version.
Result<void> complete_attributes(const OpDef& op, Attributes& attributes);

/// Calls the op's shape rule and checks that a graph can hold its results. An exception of the rule becomes an error.
Result<std::vector<ValueType>> own_outputs(const OpDef& op, std::span<const ValueType> inputs,
                                           const Attributes& attributes);

}  // namespace shoal
