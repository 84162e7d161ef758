// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What became of every update of one job, and what about that may not be.
#include <map>
#include <set>
#include <string>
#include <vector>

#include "shoal/cluster/update_observer.h"

namespace shoal::simulation {

class Ledger final : public cluster::UpdateObserver {
 public:
  static constexpr uint64_t kMessagesMax = uint64_t(16) << 10;
  /// `may_drop`: trainers may be told that an update does not count, and go on with the next batch. `messages`: room beside
  /// what a server's formula counts: heads, texts, and that buffers come in sizes.
  explicit Ledger(int shards, bool may_drop = false, uint64_t messages = kMessagesMax)
      : shards_(shards), may_drop_(may_drop), messages_(messages) {}

  void activated(int shard, uint64_t server, uint64_t epoch, uint64_t global_step) override;
  void applied(const cluster::ObservedUpdate& update) override;
  void holds(int shard, uint64_t bytes, uint64_t most) override;
  void counted(const cluster::ObservedUpdate& update) override;
  void stepped(int trainer, uint64_t global_step) override;
  void ended(int trainer, uint64_t global_step) override;
  void replaced(int trainer) override;
  /// Whether the others made the share of somebody whose input had not ended.
  bool somebody_was_replaced() const { return replaced_; }
  /// A trainer's process was started (again): it may find an older state.
  void started(int trainer) { heard_.erase(trainer); }

  /// What was seen and may not be, in the order in which it was seen; only the first are kept.
  const std::vector<std::string>& violations() const { return violations_; }
  /// Roll-backs that trainers have met, by trainer.
  const std::map<int, int>& rollbacks() const { return rollbacks_; }
  /// The global step that the updates lead to that count in the last epoch.
  uint64_t last_step() const;
  /// The most that any server had in use beyond its formula.
  int64_t memory_beyond() const { return memory_beyond_; }
  uint64_t updates() const { return updates_; }  ///< Updates applied by shard 0, over all epochs.
  /// Empty if all shards have come to one commit, as they must once the job has ended well; else a sentence that says
  /// which have not.
  std::string apart() const;

 private:
  struct Update {
    int trainer;
    uint64_t process;
    uint64_t ordinal;
    auto operator<=>(const Update&) const = default;
  };
  struct Shard {
    uint64_t server = 0;
    uint64_t base = 0;  // The global step at which the shard was activated.
    std::set<Update> updates;
    std::map<int, uint64_t> last_ordinal;  // The ordinal of each trainer's last update.
    uint64_t commit = 1;                   // The newest commit; the version that it was activated with is 1.
    size_t contributors = 0;               // How many contributors of `commit` were applied so far.
  };
  /// What servers hold from one restore on.
  struct Epoch {
    uint64_t number = 0;
    std::map<int, Shard> shards;
    std::map<uint64_t, std::vector<Update>> chain;  // The contributors of each commit, as the first shard applied them.
  };
  void check_chain(Epoch& epoch, Shard& shard, const cluster::ObservedUpdate& update);
  /// The epoch of that number, or null where there is none.
  Epoch* find(uint64_t number);
  const Shard* sequencer() const;  ///< The sequencer's shard in the newest epoch, or null where it has none.
  void violated(std::string sentence);

  const int shards_;
  const bool may_drop_;
  const uint64_t messages_;
  std::vector<Epoch> epochs_;
  std::map<int, uint64_t> newest_;  // The epoch that each shard is in.
  std::map<int, uint64_t> heard_;   // The last global step that each trainer heard of.
  std::map<int, int> rollbacks_;
  std::vector<std::string> violations_;
  std::map<int, uint64_t>
      ended_;  // The step at which each trainer said that its input has ended, as the newest state knows.
  bool replaced_ = false;
  uint64_t updates_ = 0;
  int64_t memory_beyond_ = INT64_MIN;
};

}  // namespace shoal::simulation
