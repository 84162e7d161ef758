// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What goes to the standard input of a process, as fast as that takes it.
#include <string>
#include <string_view>

#include "launch/descriptor.h"

namespace shoal::cli::launch {

class Outbox {
 public:
  /// `to` does not block. First goes `first`, then `second`, which lives as long as this.
  Outbox(Descriptor to, std::string first, std::string_view second = {})
      : to_(std::move(to)), text_(std::move(first)), second_(second) {}

  void add(std::string_view text) { text_ += text; }
  /// Nothing comes after what is there.
  void close_when_sent() { closes_ = true; }

  /// The descriptor to wait for; -1 if nothing is left to be sent.
  int waits_for() const { return text_.size() == sent_ && second_.empty() ? -1 : to_.number(); }
  int number() const { return to_.number(); }
  /// Sends what can be sent now; true if any could. What nobody will read any more is dropped.
  bool send();

 private:
  /// How much of it was taken.
  size_t write(std::string_view bytes);

  Descriptor to_;
  std::string text_;
  size_t sent_ = 0;  // Of text_.
  std::string_view second_;
  bool closes_ = false;
};

}  // namespace shoal::cli::launch
