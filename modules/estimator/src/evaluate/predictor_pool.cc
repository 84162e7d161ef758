// SPDX-License-Identifier: Apache-2.0
#include "evaluate/predictor_pool.h"

#include <algorithm>

namespace shoal {

/// Counts a predictor in the pool while it is being made. If making it fails, or throws for want of memory, the predictor
/// no longer counts.
class PredictorPool::Place {
 public:
  explicit Place(PredictorPool& pool) : pool_(&pool) {}
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place() {
    if (!pool_) return;
    {
      const std::lock_guard lock(pool_->mutex_);
      --pool_->made_;
    }
    pool_->returned_.notify_one();
  }
  void is_taken() { pool_ = nullptr; }

 private:
  PredictorPool* pool_;
};

PredictorPool::PredictorPool(std::unique_ptr<Predictor> first, int most, Make make)
    : most_(std::max(most, 1)), make_(std::move(make)) {
  idle_.reserve(size_t(most_));  // Reserves space, so that giving a predictor back allocates nothing.
  idle_.push_back(std::move(first));
}

Result<PredictorPool::Lease> PredictorPool::take() {
  {
    std::unique_lock lock(mutex_);
    // The wait ends, since each predictor in use returns to the pool after its prediction, even if that fails.
    returned_.wait(lock, [this] { return !idle_.empty() || made_ < most_; });
    if (!idle_.empty()) {
      std::unique_ptr<Predictor> predictor = std::move(idle_.back());
      idle_.pop_back();
      return Lease(*this, std::move(predictor));
    }
    ++made_;
  }
  // If make_() fails, the destructor of `place` no longer counts this predictor, so another call may try to make one. The
  // mutex is not locked meanwhile, so other threads can predict.
  Place place(*this);
  SHOAL_TRY(std::unique_ptr<Predictor> made, make_());
  place.is_taken();
  return Lease(*this, std::move(made));
}

void PredictorPool::give_back(std::unique_ptr<Predictor> predictor) {
  {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(predictor));
  }
  returned_.notify_one();
}

}  // namespace shoal
