// SPDX-License-Identifier: Apache-2.0
#include "model/initial_source.h"

namespace shoal {

Result<std::unique_ptr<InitialSource>> InitialSource::open(Environment& env, const WarmStart* start, const Graph& graph,
                                                           const InitialValues& values, Mode mode) {
  std::unique_ptr<InitialSource> source(new InitialSource(values));
  if (!values.values().empty()) {
    source->summaries_.push_back("initial values: " + std::to_string(values.values().size()) + " of " +
                                 std::to_string(graph.variables().size()) + " variables start from values of model_fn");
  }
  if (!start) return source;
  SHOAL_TRY(source->warm_start_, WarmStartSource::open(env, *start, graph, values, mode));
  source->summaries_.push_back(source->warm_start_->summary());
  return source;
}

bool InitialSource::holds(const cluster::Segment& segment, cluster::ArenaIndex arena) const {
  if (warm_start_ && warm_start_->holds(segment, arena)) return true;
  return arena == 0 && values_.values().contains(segment.variable.name);
}

Result<void> InitialSource::read(const cluster::Segment& segment, cluster::ArenaIndex arena, std::span<std::byte> out) {
  if (warm_start_ && warm_start_->holds(segment, arena)) return warm_start_->read(segment, arena, out);
  return values_.fill(segment, out);
}

}  // namespace shoal
