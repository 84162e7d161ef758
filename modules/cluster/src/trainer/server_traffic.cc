// SPDX-License-Identifier: Apache-2.0
#include "trainer/server_traffic.h"

#include <algorithm>

namespace shoal::cluster {

ServerTraffic::ServerTraffic(BufferPool& pool, const ShardSpec& spec, const Compression& compression, size_t first)
    : first_(first), arena_bytes_(spec.arena_bytes), parts_(parts_of(spec)) {
  traffic_.reserve(parts_.size());
  for (size_t i = 0; i < parts_.size(); ++i) {
    traffic_.emplace_back(pool, parts_[i], uint32_t(i), uint32_t(parts_.size()), compression);
  }
}

bool ServerTraffic::has_weights() const {
  return std::ranges::all_of(traffic_, [](const ShardTraffic& part) { return part.has_weights(); });
}

void ServerTraffic::drop_weights() {
  for (ShardTraffic& part : traffic_) part.drop_weights();
}

PartedArena ServerTraffic::kept_back() const {
  PartedArena arena;
  for (const ShardTraffic& part : traffic_) {
    if (const Ref<const Buffer> kept = part.kept_back()) arena.add(kept->bytes(), kept);
  }
  return arena;
}

TrafficBytes ServerTraffic::bytes() const {
  TrafficBytes sum;
  for (const ShardTraffic& part : traffic_) sum += part.bytes();
  return sum;
}

ServerTraffic::Residual ServerTraffic::residual() const { return residual_of(&ShardTraffic::residual); }
ServerTraffic::Residual ServerTraffic::residual_before() const { return residual_of(&ShardTraffic::residual_before); }

ServerTraffic::Residual ServerTraffic::residual_of(PartResidual part) const {
  Residual all;
  for (const ShardTraffic& traffic : traffic_) {
    const ShardTraffic::Residual one = (traffic.*part)();
    if (!one.arena) return {};
    all.arena.add(one.arena->bytes(), one.arena);
    all.after = one.after;  // The same push for all residuals (gradient values not yet sent).
  }
  return all;
}

void ServerTraffic::resume(std::span<const std::byte> residual) {
  for (size_t i = 0; i < parts_.size(); ++i) {
    traffic_[i].resume(residual.subspan(parts_[i].begin, parts_[i].spec.arena_bytes));
  }
}

void ServerTraffic::restart() {
  for (ShardTraffic& part : traffic_) part.restart();
}

}  // namespace shoal::cluster
