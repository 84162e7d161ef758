// SPDX-License-Identifier: Apache-2.0
#pragma once
/// When what trainers have pushed becomes an update, and of whom: the policies of the sequencer. A strategy has no
/// clock, no input or output and no weights: it is asked with all that it may know, and equal questions have equal
/// answers.
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

/// A trainer, between one commit and the next.
struct Participant {
  bool takes_part = true;  ///< False if it makes no more pushes.
  bool lost = false;       ///< True if it is away for longer than others have to wait for it.
  int whole = 0;           ///< How many pushes of it all shards hold for the next commit.
  int granted = 0;         ///< How many pushes beyond its first it may make for the next commit.
};

/// How far the job is.
struct Progress {
  uint64_t version = 0;   ///< The version of the weights, on every shard once it has carried out its orders.
  bool stopping = false;  ///< True if trainers are asked to stop.
  std::vector<Participant> trainers = {};
};

class UpdateStrategy {
 public:
  virtual ~UpdateStrategy() = default;
  /// False if the push is too old, or too late, and will not count.
  virtual bool takes(const WholePush& push, const Progress& progress) const = 0;
  /// Which of `held` (all taken, in the order in which they became whole) make the next update, by index and in the
  /// order in which they are added up; none: it is not complete.
  virtual std::vector<size_t> next(std::span<const WholePush> held, const Progress& progress) const = 0;
  /// True if `trainer`, all of whose pushes are held, may make one more for the same commit.
  virtual bool grants(size_t trainer, const Progress& progress) const = 0;
  /// True if trainers wait for each other, so what they compute on has to be of one version, and who is lost is missed.
  virtual bool paces() const = 0;
};

/// Each push is an update of its own, as soon as all shards hold it (CONTRACT 18.1).
std::unique_ptr<UpdateStrategy> async_strategy();
/// One update for `replicas_to_aggregate` pushes on the same weights (CONTRACT 18.2; Chen et al., "Revisiting Distributed
/// Synchronous SGD", 2016). With more trainers than that, the first count (backup workers); with fewer, of which it is a
/// multiple, each gives several.
std::unique_ptr<UpdateStrategy> sync_strategy(int replicas_to_aggregate, int trainers);

/// Makes a strategy by the text that tasks compare when they meet (TaskIdentity::strategy): "async", "sync", "sync(3)".
/// InvalidArgument: there is none of that name, or not for so many trainers.
Result<std::unique_ptr<UpdateStrategy>> make_strategy(std::string_view text, int trainers);

}  // namespace shoal::cluster
