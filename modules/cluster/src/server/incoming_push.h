// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The chunks of a push to a server, kept until the closing one is there.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "shoal/base/result.h"
#include "shoal/transport/message.h"
#include "state/held_push.h"

namespace shoal::cluster {

class IncomingPush {
 public:
  /// Takes one more chunk, which is `message`; true if it is the closing one, which comes last. The others come in any
  /// order. `parts`: how many chunks a push has at most. InvalidArgument: it is here already, of another push, or one too
  /// many.
  Result<bool> add(transport::Message message, const transport::Chunk& chunk, size_t parts) {
    const bool follows = messages_.empty() || message.head.sequence == messages_.front().head.sequence;
    const auto at = std::ranges::lower_bound(chunks_, chunk.chunk_index, {}, &transport::Chunk::chunk_index);
    const bool again = at != chunks_.end() && at->chunk_index == chunk.chunk_index;
    if (!follows || again || (!chunk.closing && chunks_.size() + 1 >= parts)) {
      return invalid_argument("chunk " + std::to_string(chunk.chunk_index) + " of a push is not one that was to come");
    }
    messages_.insert(messages_.begin() + (at - chunks_.begin()), std::move(message));
    chunks_.insert(at, chunk);
    return chunk.closing;
  }
  /// Moves a complete push out of here.
  HeldPush take() {
    HeldPush push;
    push.messages = std::exchange(messages_, {});
    push.chunks = std::exchange(chunks_, {});
    push.credit = std::exchange(credit_, {});
    return push;
  }
  /// The credit for what is here, and for what is added next.
  PushCredit& credit() { return credit_; }

 private:
  std::vector<transport::Message> messages_;  // By the index of their chunks.
  std::vector<transport::Chunk> chunks_;      // Views of the messages.
  PushCredit credit_;
};

}  // namespace shoal::cluster
