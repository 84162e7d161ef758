// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The report of a shard to the sequencer that it holds a whole push.
#include "shoal/transport/message.h"

namespace shoal::cluster {

inline transport::Report held(const transport::PushId& push, uint64_t base_version = 1) {
  return {.kind = transport::ReportKind::kHeld, .push = push, .base_version = base_version};
}

}  // namespace shoal::cluster
