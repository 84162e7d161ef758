// SPDX-License-Identifier: Apache-2.0
#include "server/chief_seat.h"

#include <chrono>

#include "shoal/base/check.h"
#include "shoal/base/utc_text.h"

namespace shoal::cluster {
namespace {

// The last bytes of a dead process may arrive for this long; only later bytes prove that it is alive.
constexpr auto kUnderWay = std::chrono::milliseconds(100);
constexpr auto kLook = std::chrono::milliseconds(20);
constexpr auto kClosing = std::chrono::seconds(1);  // How long closing a silent chief's connections may take.

}  // namespace

Task<Result<ChiefSeat::Asked>> ChiefSeat::ask(uint64_t incarnation) {
  const SteadyTime asked = env_.now();
  if (is_taken_from(incarnation)) env_.sometimes("server.chief_before_unclear");
  while (is_taken_from(incarnation)) {
    if (heard_() >= asked + kUnderWay) co_return Asked::kHeld;
    if (env_.now() >= asked + patience_ + kClosing) co_return Asked::kUnclear;
    const Result<void> left = co_await left_.wait("the chief before to leave", env_.after(kLook));
    if (!left && left.error().kind() != ErrorKind::kDeadlineExceeded) co_return left.error();
  }
  co_return Asked::kFree;
}

void ChiefSeat::take(uint64_t incarnation, const transport::Endpoint& peer, std::string whose) {
  SHOAL_CHECK(!is_taken_from(incarnation));
  holder_ = Holder{.incarnation = incarnation,
                   .peer = to_string(peer),
                   .whose = std::move(whose),
                   .since = holder_ ? holder_->since : env_.wall_now()};
}

void ChiefSeat::leave() {
  holder_.reset();
  left_.notify_all();
}

Error ChiefSeat::refusal(Asked asked, std::string_view whose) const {
  std::string other = "another chief is connected";
  if (holder_) {
    if (!holder_->whose.empty() || !whose.empty()) {
      other += " (" + (holder_->whose.empty() ? "of a run that it did not name" : holder_->whose) +
               "; this one: " + (whose.empty() ? "not named" : std::string(whose)) + ")";
    }
    other += ", from " + holder_->peer + " since " + utc_text(holder_->since);
  }
  if (asked == Asked::kUnclear) return unavailable(other + "; it is not known yet whether that one is alive");
  return unavailable(other + ", and alive; a job has one chief: end that one first, or give this job servers of its own");
}

}  // namespace shoal::cluster
