// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Text for the standard input of a process, sent as fast as the process takes it.
#include <string>
#include <string_view>

#include "launch/descriptor.h"

namespace shoal::cli::launch {

class Outbox {
 public:
  /// Sends `first` and then `second` to `to`, which must not block. `second` has to outlive this object.
  Outbox(Descriptor to, std::string first, std::string_view second = {})
      : to_(std::move(to)), text_(std::move(first)), second_(second) {}

  void add(std::string_view text) { text_ += text; }
  /// Closes the descriptor once all text is sent.
  void close_when_sent() { closes_ = true; }

  /// The descriptor that has to become writable before send(); -1 if there is nothing to send.
  int waits_for() const { return text_.size() == sent_ && second_.empty() ? -1 : to_.number(); }
  int number() const { return to_.number(); }
  /// Sends as much as possible now. Returns true if any was sent. Drops text that no process will read any more.
  bool send();

 private:
  /// Returns how many of the bytes the process took. If nobody reads any more, counts all bytes as taken.
  size_t write(std::string_view bytes);

  Descriptor to_;
  std::string text_;
  size_t sent_ = 0;  // How much of text_ was sent.
  std::string_view second_;
  bool closes_ = false;
};

}  // namespace shoal::cli::launch
