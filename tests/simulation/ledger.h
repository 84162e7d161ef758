#pragma once
/// What became of every update of one job, and what about that may not be.
#include <map>
#include <set>
#include <string>
#include <vector>

#include "shoal/cluster/witness.h"

namespace shoal::simulation {

class Ledger final : public cluster::Witness {
 public:
  /// `may_drop`: trainers may be told that an update does not count, and go on with the next batch.
  explicit Ledger(int shards, bool may_drop = false) : shards_(shards), may_drop_(may_drop) {}

  void activated(int shard, uint64_t server, uint64_t epoch, uint64_t global_step) override;
  void applied(const cluster::WitnessedUpdate& update) override;
  void holds(int shard, uint64_t bytes, uint64_t most) override;
  void counted(const cluster::WitnessedUpdate& update) override;
  void stepped(int trainer, uint64_t global_step) override;
  /// A trainer's process was started (again): it may find an older state.
  void started(int trainer) { heard_.erase(trainer); }

  /// What was seen and may not be, in the order in which it was seen; at most some.
  const std::vector<std::string>& violations() const { return violations_; }
  /// Roll-backs that trainers have met, by trainer.
  const std::map<int, int>& rollbacks() const { return rollbacks_; }
  /// Updates that count in the last epoch, and the step that they lead to.
  uint64_t last_step() const;
  /// The most that any server had in use beyond its formula.
  int64_t memory_beyond() const { return memory_beyond_; }
  uint64_t updates() const { return updates_; }  ///< applied by shard 0, over all epochs
  /// Once the job has ended well: all shards have come to one commit, or a sentence that says which have not.
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
    uint64_t base = 0;  // the step that it was activated at
    std::set<Update> updates;
    std::map<int, uint64_t> last_ordinal;  // by trainer
    uint64_t commit = 1;                   // the newest; the version that it was activated with is 1
    size_t contributors = 0;               // of that, so far
  };
  /// What servers hold from one restore on.
  struct Epoch {
    uint64_t number = 0;
    std::map<int, Shard> shards;
    std::map<uint64_t, std::vector<Update>> chain;  // commits and their contributors, as the first shard applied them
  };
  void check_chain(Epoch& epoch, Shard& shard, const cluster::WitnessedUpdate& update);
  /// Null: there is none.
  Epoch* find(uint64_t number);
  const Shard* sequencer() const;  ///< of the newest epoch; null: it has none
  void violated(std::string sentence);

  const int shards_;
  const bool may_drop_;
  std::vector<Epoch> epochs_;
  std::map<int, uint64_t> newest_;  // the epoch that each shard is in
  std::map<int, uint64_t> heard_;   // the last global step that each trainer heard of
  std::map<int, int> rollbacks_;
  std::vector<std::string> violations_;
  uint64_t updates_ = 0;
  int64_t memory_beyond_ = INT64_MIN;
};

}  // namespace shoal::simulation
