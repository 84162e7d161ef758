// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Collects the chunks of one push until the closing chunk arrives.
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
  /// Adds the chunk that `message` carries. Returns true for the closing chunk, which comes last; the other chunks come
  /// in any order. A push has at most `parts` chunks. InvalidArgument if the chunk was added before, belongs to another
  /// push, or exceeds `parts`.
  Result<bool> add(transport::Message message, const transport::Chunk& chunk, size_t parts) {
    const bool follows = messages_.empty() || message.head.sequence == messages_.front().head.sequence;
    const auto at = std::ranges::lower_bound(chunks_, chunk.chunk_index, {}, &transport::Chunk::chunk_index);
    const bool again = at != chunks_.end() && at->chunk_index == chunk.chunk_index;
    if (!follows || again || (!chunk.closing && chunks_.size() + 1 >= parts)) {
      return invalid_argument("chunk " + std::to_string(chunk.chunk_index) + " of a push was not expected");
    }
    messages_.insert(messages_.begin() + (at - chunks_.begin()), std::move(message));
    chunks_.insert(at, chunk);
    return chunk.closing;
  }
  /// Moves the complete push out of this object.
  HeldPush take() {
    HeldPush push;
    push.messages = std::exchange(messages_, {});
    push.chunks = std::exchange(chunks_, {});
    push.credit = std::exchange(credit_, {});
    return push;
  }
  /// How much of its trainer's memory limit the push uses: for the chunks that were added, and for the one to be added
  /// next.
  PushCredit& credit() { return credit_; }

 private:
  std::vector<transport::Message> messages_;  // The chunks' messages, in the order of their chunk indices.
  std::vector<transport::Chunk> chunks_;      // Chunk i is a view of messages_[i].
  PushCredit credit_;
};

}  // namespace shoal::cluster
