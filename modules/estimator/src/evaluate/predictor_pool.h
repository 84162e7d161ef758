// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Predictors of one model for many threads: each prediction has one of its own while it runs.
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "evaluate/predictor.h"

namespace shoal {

/// Any thread may call take(). Predictors share the weights; each has programs of its own, and memory for their results. The pool
/// makes as many predictors as were in use at once, at most `most`; further threads wait until one is given back.
class PredictorPool {
 public:
  using Make = std::function<Result<std::unique_ptr<Predictor>>()>;
  /// `make` is called by several threads at once.
  PredictorPool(std::unique_ptr<Predictor> first, int most, Make make);

  /// A predictor that one thread has until the lease ends.
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
  /// Errors: those of `make`.
  Result<Lease> take();

 private:
  class Place;
  void give_back(std::unique_ptr<Predictor> predictor);

  const int most_;
  const Make make_;
  std::mutex mutex_;
  std::condition_variable returned_;
  // The mutex guards the members below.
  std::vector<std::unique_ptr<Predictor>> idle_;  // The last one given back, whose memory is warm, is taken first.
  int made_ = 1;
};

}  // namespace shoal
