// SPDX-License-Identifier: Apache-2.0
#include "server/turns.h"

#include <algorithm>

namespace shoal::cluster {

Task<Result<Turns::Turn>> Turns::take(Deadline deadline) {
  const uint64_t ticket = ++asked_;
  line_.push_back(ticket);
  Result<void> woken;
  while (!none_left_ && line_.front() != ticket && woken) {
    woken = co_await changed_.wait("its turn at the server's state", deadline);
  }
  if (!none_left_ && line_.front() == ticket) co_return Turn(*this);
  std::erase(line_, ticket);
  if (woken) co_return cancelled();
  co_return std::move(woken).error();
}

void Turns::next() {
  line_.pop_front();
  changed_.notify_all();
}

void Turns::end() {
  none_left_ = true;
  changed_.notify_all();
}

}  // namespace shoal::cluster
