// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstring>
#include <optional>
#include <vector>

#include "shoal/transport/message.h"

namespace shoal::transport {

/// A message whose payload stays outside of the FlatBuffer, as a transport may leave it.
class SplitMessage final : public BufferOwner {
 public:
  explicit SplitMessage(const Message& whole) : payload_(whole.payload().begin(), whole.payload().end()) {
    const auto front_bytes = size_t(whole.payload().data() - whole.body->data());
    front_ = Buffer::allocate(front_bytes);
    std::memcpy(front_->data(), whole.body->data(), front_bytes);
    std::memset(front_->data() + front_bytes - 4, 0, 4);  // The length of the payload.
    aligned_ = Buffer::allocate(payload_.size());
    std::memcpy(aligned_->data(), payload_.data(), payload_.size());
    message.head = whole.head;
    reset(aligned_->bytes());
  }
  ~SplitMessage() { message.body = {}; }
  void reset(std::span<const std::byte> payload) {
    message.body = {};
    view_.emplace(front_->bytes(), payload, *this);
    message.body = Ref<const Buffer>::adopt(&*view_);
  }
  Message message;

 private:
  void take_back(Buffer*) override {}
  std::vector<std::byte> payload_;
  Ref<Buffer> front_, aligned_;
  std::optional<Buffer> view_;
};

}  // namespace shoal::transport
