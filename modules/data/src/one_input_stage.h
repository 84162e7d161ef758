// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <utility>

#include "stage.h"

namespace shoal::data {

/// A stage with one input. Its position consists of its own counters, followed by the position of its input.
class OneInputStage : public Stage {
 public:
  explicit OneInputStage(std::unique_ptr<Stage> input) : input_(std::move(input)) {}
  Result<void> restart(uint64_t pass) override {
    index_ = 0;
    return input_->restart(pass);
  }
  Result<void> save(StateWriter& out) const override {
    out.number(uint64_t(index_));
    return input_->save(out);
  }
  Result<void> load(StateReader& in) override {
    SHOAL_TRY(index_, in.count());
    return input_->load(in);
  }

 protected:
  std::unique_ptr<Stage> input_;
  int64_t index_ = 0;  ///< A counter that each derived stage may use for its own purpose.
};

}  // namespace shoal::data
