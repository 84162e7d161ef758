// SPDX-License-Identifier: Apache-2.0
#pragma once
/// How many bytes of pushes a server keeps for each trainer: what ServerMemory says of them is held to.
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "shoal/cluster/server_memory.h"

namespace shoal::cluster {

/// What one push has taken of its trainer's bytes; given back when it goes.
class PushCredit {
 public:
  PushCredit() = default;
  PushCredit(PushCredit&& other) noexcept : taken_(std::move(other.taken_)), bytes_(std::exchange(other.bytes_, 0)) {}
  PushCredit& operator=(PushCredit&& other) noexcept {
    if (this == &other) return *this;
    give_back();
    taken_ = std::move(other.taken_);
    bytes_ = std::exchange(other.bytes_, 0);
    return *this;
  }
  ~PushCredit() { give_back(); }

  uint64_t bytes() const { return bytes_; }

 private:
  friend class PushCredits;
  void give_back() {
    if (taken_) *taken_ -= bytes_;
    taken_.reset();
    bytes_ = 0;
  }

  std::shared_ptr<uint64_t> taken_;  // All bytes that the pushes of the trainer have taken.
  uint64_t bytes_ = 0;
};

/// The bytes of all trainers' pushes. Credits may outlive it.
class PushCredits {
 public:
  /// Limits pushes from now on; what was taken under another limit is not taken away.
  void set_limit(const PushLimit& limit) { limit_ = limit; }

  /// Makes `credit` grow. False if `trainer` has no room for so much, until others of its pushes go. One push alone
  /// always has.
  [[nodiscard]] bool grow(PushCredit& credit, int trainer, uint64_t bytes, bool encoded) {
    std::shared_ptr<uint64_t>& taken = taken_[trainer];
    if (!taken) taken = std::make_shared<uint64_t>(0);
    const uint64_t others = *taken - credit.bytes_;
    if (others != 0 && *taken + bytes > (encoded ? limit_.encoded : limit_.dense)) return false;
    *taken += bytes;
    credit.taken_ = taken;
    credit.bytes_ += bytes;
    return true;
  }
  uint64_t taken(int trainer) const {
    const auto found = taken_.find(trainer);
    return found == taken_.end() ? 0 : *found->second;
  }

 private:
  PushLimit limit_;
  std::map<int, std::shared_ptr<uint64_t>> taken_;
};

}  // namespace shoal::cluster
