// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>

#include "stage.h"

namespace shoal::data {

/// A source whose elements are numbered from 0 and can be reached directly.
class IndexedStage : public Stage {
 public:
  IndexedStage(const StageContext& context, int64_t count) : context_(context), count_(count) {}
  Result<bool> next(Item& item) override {
    SHOAL_TRY_VOID(check_stopping(context_));
    if (index_ == count_) return false;
    give(index_++, item);
    return true;
  }
  Result<int64_t> skip(int64_t count) override {
    const int64_t skipped = std::min(count, count_ - index_);
    index_ += skipped;
    return skipped;
  }
  Result<void> restart(uint64_t) override { return index_ = 0, Result<void>(); }
  Result<void> save(StateWriter& out) const override { return out.number(uint64_t(index_)), Result<void>(); }
  Result<void> load(StateReader& in) override {
    SHOAL_TRY(index_, in.count(count_));
    return {};
  }

 private:
  virtual void give(int64_t index, Item& item) = 0;
  const StageContext& context_;
  int64_t count_;
  int64_t index_ = 0;
};

}  // namespace shoal::data
