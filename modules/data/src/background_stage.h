// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A stage whose elements are prepared on the threads of Environment::pool().
#include "stage.h"

namespace shoal::data {

class BackgroundStage : public Stage {
 public:
  /// Begins to prepare elements, before next() is called for the first one.
  virtual void start() = 0;
  /// True if next() would return at once.
  virtual bool is_ready() const = 0;
};

/// Makes a stage that prepares up to `count` elements of `input` in the background. If `count` is -1, the stage chooses the
/// number itself. The position that the stage saves is a position of `input`.
std::unique_ptr<BackgroundStage> make_background_stage(StageContext& context, std::unique_ptr<Stage> input, int64_t count);

}  // namespace shoal::data
