// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Policies of the sequencer: which pushes make an update, and when. A strategy has no clock, no input or output and no
/// weights: it decides by its arguments alone, and equal arguments give equal answers.
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
  /// The version of the weights that the push was computed on; the lowest one if the shards had sent the trainer
  /// different versions.
  uint64_t base_version = 0;
};

/// What one trainer has contributed, and may still contribute, to the next commit (update of the weights).
struct Participant {
  bool active = true;  ///< False if the trainer makes no more pushes.
  bool lost = false;   ///< True if the trainer has been away for the grace period.
  int whole = 0;       ///< The number of the trainer's pushes for the next commit that have reached all shards.
  int granted = 0;     ///< Extra pushes that the trainer may make for the next commit, after its first one.
};

/// The state of the job, from which strategies decide.
struct Progress {
  uint64_t version = 0;   ///< The version of the weights after all updates ordered so far.
  bool stopping = false;  ///< True if trainers are asked to stop.
  std::vector<Participant> trainers = {};
};

class UpdateStrategy {
 public:
  virtual ~UpdateStrategy() = default;
  /// False if the push has to be dropped: it was computed on weights that are too old, or trainers were asked to stop.
  virtual bool takes(const WholePush& push, const Progress& progress) const = 0;
  /// The pushes that make the next update, as indices into `held` in the order in which they are added up; none if the
  /// update is not complete. `held` has pushes that takes() accepted, in the order in which they reached all shards.
  virtual std::vector<size_t> next(std::span<const WholePush> held, const Progress& progress) const = 0;
  /// True if `trainer`, whose pushes have reached all shards, may make one more push for the same commit.
  virtual bool grants(size_t trainer, const Progress& progress) const = 0;
  /// True if trainers wait for each other (synchronous). All of them then need weights of the same version, and a trainer
  /// that is lost has to be replaced.
  virtual bool paces() const = 0;
};

/// Asynchronous: each push is an update of its own, as soon as all shards hold it.
std::unique_ptr<UpdateStrategy> async_strategy();
/// Synchronous: `replicas_to_aggregate` pushes on the same weights make one update (Chen et al., "Revisiting Distributed
/// Synchronous SGD", 2016). If there are more trainers than that, only the first pushes are used (backup workers); if there
/// are fewer, the number is a multiple of the trainers, and each trainer makes several pushes.
std::unique_ptr<UpdateStrategy> sync_strategy(int replicas_to_aggregate, int trainers);

/// Makes a strategy from its text (TaskIdentity::strategy): "async", "sync", "sync(3)". InvalidArgument for any other
/// text, or a number that does not fit `trainers`.
Result<std::unique_ptr<UpdateStrategy>> make_strategy(std::string_view text, int trainers);

}  // namespace shoal::cluster
