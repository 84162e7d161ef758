#pragma once
/// When what trainers have pushed becomes an update, and of whom: the policies of the sequencer. A strategy has no clock, no
/// input or output and no weights: it is asked with all that it may know, and equal questions have equal answers.
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "shoal/base/result.h"
#include "shoal/transport/message.h"

namespace shoal::cluster {

/// A push that all shards hold.
struct WholePush {
  transport::PushId id;
  /// The version of the weights that it was computed on; the oldest, where shards gave its trainer several.
  uint64_t base_version = 0;
};

/// How far the job is.
struct Progress {
  uint64_t version = 0;  ///< of the weights, on every shard once it has carried out its orders
  uint64_t global_step = 0;
};

class UpdateStrategy {
 public:
  virtual ~UpdateStrategy() = default;
  /// False: the push is too old and will not count.
  virtual bool takes(const WholePush& push, const Progress& progress) const = 0;
  /// Which of `held` (all taken, in the order in which they became whole) make the next update, by index and in the order in
  /// which they are added up; none: it is not complete.
  virtual std::vector<size_t> next(std::span<const WholePush> held, const Progress& progress) const = 0;
};

/// Each push is an update of its own, as soon as all shards hold it (CONTRACT 18.1).
std::unique_ptr<UpdateStrategy> async_strategy();

/// By the name that tasks compare when they meet (TaskIdentity::strategy). InvalidArgument: there is none of that name.
Result<std::unique_ptr<UpdateStrategy>> make_strategy(std::string_view name);

}  // namespace shoal::cluster
