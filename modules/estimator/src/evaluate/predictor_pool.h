// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A pool of predictors of one model for many threads. Each running prediction uses one predictor.
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "evaluate/predictor.h"

namespace shoal {

/// Any thread may call take(). Predictors share the weights; each has its own programs and the memory for their results.
/// The pool makes a new predictor if all others are in use, up to `most`; further threads wait until one is given back.
class PredictorPool {
 public:
  using Make = std::function<Result<std::unique_ptr<Predictor>>()>;
  /// Several threads may call `make` at once.
  PredictorPool(std::unique_ptr<Predictor> first, int most, Make make);

  /// A predictor that belongs to one thread until the lease ends.
  class Lease {
   public:
    Lease(PredictorPool& pool, std::unique_ptr<Predictor> predictor) : pool_(&pool), predictor_(std::move(predictor)) {}
    Lease(Lease&&) = default;
    Lease& operator=(Lease&&) = delete;
    ~Lease() {
      if (predictor_) pool_->give_back(std::move(predictor_));
    }
    Predictor& operator*() const { return *predictor_; }
    Predictor* operator->() const { return predictor_.get(); }

   private:
    PredictorPool* pool_;
    std::unique_ptr<Predictor> predictor_;
  };
  /// Takes a predictor from the pool. Errors: those of `make`.
  Result<Lease> take();

 private:
  class Place;
  void give_back(std::unique_ptr<Predictor> predictor);

  const int most_;
  const Make make_;
  std::mutex mutex_;
  std::condition_variable returned_;
  // The mutex guards the members below.
  std::vector<std::unique_ptr<Predictor>> idle_;
  int made_ = 1;
};

}  // namespace shoal
