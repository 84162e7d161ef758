// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "shoal/cluster/shard_plan.h"

namespace shoal::fuzz {

/// A shard with a segment of each kind: plain, of several blocks, with lazy rows.
inline cluster::ShardSpec payload_spec() {
  const auto variable = [](std::string name, Shape shape, bool lazy) {
    cluster::VariableSpec spec{.name = std::move(name), .shape = shape};
    spec.lazy_rows = lazy;
    return spec;
  };
  return value_or_raise(cluster::plan_shards({variable("bias", {5}, false), variable("kernel", {20, 15}, false),
                                              variable("table", {10, 3}, true), variable("scalars", {4}, true)},
                                             1, 0))
      .shards[0];
}

}  // namespace shoal::fuzz
