// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Limits the bytes of pushes that a server keeps for each trainer, so that the estimate of ServerMemory holds.
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "shoal/cluster/server_memory.h"

namespace shoal::cluster {

/// How many bytes of its trainer's memory limit one push uses. The destructor frees these bytes for other pushes.
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

  std::shared_ptr<uint64_t> taken_;  // The bytes that all pushes of the trainer use.
  uint64_t bytes_ = 0;
};

/// Counts the bytes that the pushes of each trainer use. A PushCredit may outlive this object.
class PushCredits {
 public:
  /// Sets the limit for new pushes; pushes that were accepted before keep the bytes that they use.
  void set_limit(const PushLimit& limit) { limit_ = limit; }

  /// Adds `bytes` to `credit`. Returns false if all pushes of `trainer` together would exceed its limit; a trainer's
  /// only push is accepted whatever its size.
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
