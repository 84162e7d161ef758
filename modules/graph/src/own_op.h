// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What is checked of a user's own op, and of its nodes: rules and kernels rely on it.
#include <span>
#include <vector>

#include "shoal/graph/op.h"

namespace shoal {

/// InvalidArgument if OpDef::version or OpDef::attributes are not what OpCatalogue::add() takes.
Result<void> check_attribute_defs(const OpDef& op);

/// Gives a node the attributes that it says nothing of, and the version of its op. InvalidArgument for an attribute that
/// the op does not take, one of another type, NaN, or one that is required and missing; FailedPrecondition for another
/// version.
Result<void> complete_attributes(const OpDef& op, Attributes& attributes);

/// What its shape rule gives, as values that a graph can hold. What the rule throws is an error as well.
Result<std::vector<ValueType>> own_outputs(const OpDef& op, std::span<const ValueType> inputs,
                                           const Attributes& attributes);

}  // namespace shoal
