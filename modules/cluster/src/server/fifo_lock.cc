// SPDX-License-Identifier: Apache-2.0
#include "server/fifo_lock.h"

#include <algorithm>

namespace shoal::cluster {

Task<Result<FifoLock::Guard>> FifoLock::acquire(Deadline deadline) {
  const uint64_t ticket = ++last_ticket_;
  queue_.push_back(ticket);
  Result<void> woken;
  while (!broken_off_ && queue_.front() != ticket && woken) {
    woken = co_await changed_.wait("the lock of the server's state", deadline);
  }
  if (!broken_off_ && queue_.front() == ticket) co_return Guard(*this);
  std::erase(queue_, ticket);
  if (broken_off_) co_return *broken_off_;
  co_return std::move(woken).error();
}

void FifoLock::release() {
  queue_.pop_front();
  changed_.notify_all();
}

void FifoLock::break_off(Error why) {
  if (broken_off_) return;
  broken_off_ = std::move(why);
  changed_.notify_all();
}

}  // namespace shoal::cluster
