#pragma once
/// The chunks of a push to a server, kept until the closing one is there.
#include <utility>
#include <vector>

#include "shoal/base/result.h"
#include "shoal/transport/message.h"
#include "state/held_push.h"

namespace shoal::cluster {

class IncomingPush {
 public:
  /// Takes the next chunk, which is `message`; true if the push is complete. `parts`: how many chunks a push has at
  /// most. InvalidArgument: it is not the next chunk.
  Result<bool> add(transport::Message message, const transport::Chunk& chunk, size_t parts) {
    const bool follows = messages_.empty() || message.head.sequence == messages_.front().head.sequence;
    if (!follows || chunk.chunk_index != chunks_.size() || (!chunk.closing && chunks_.size() + 1 >= parts)) {
      return invalid_argument("chunk " + std::to_string(chunk.chunk_index) + " of a push is not the one that was to come");
    }
    messages_.push_back(std::move(message));
    chunks_.push_back(chunk);
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
  std::vector<transport::Message> messages_;
  std::vector<transport::Chunk> chunks_;  // Views of the messages.
  PushCredit credit_;
};

}  // namespace shoal::cluster
