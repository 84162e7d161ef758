// SPDX-License-Identifier: Apache-2.0
#include "ledger.h"

#include <algorithm>

namespace shoal::simulation {
namespace {

constexpr size_t kViolationsMax = 20;

std::string text(const cluster::ObservedUpdate& update) {
  return "update " + std::to_string(update.ordinal) + " of trainer " + std::to_string(update.trainer) + " (process " +
         std::to_string(update.process % 10000) + ") in epoch " + std::to_string(update.epoch);
}

}  // namespace

void Ledger::violated(std::string sentence) {
  if (violations_.size() < kViolationsMax) violations_.push_back(std::move(sentence));
}

Ledger::Epoch* Ledger::find(uint64_t number) {
  for (auto epoch = epochs_.rbegin(); epoch != epochs_.rend(); ++epoch) {
    if (epoch->number == number) return &*epoch;
  }
  return nullptr;
}

void Ledger::activated(int shard, uint64_t server, uint64_t epoch, uint64_t global_step) {
  newest_[shard] = epoch;
  // A checkpoint of the same step may be of the moment before.
  if (shard == 0) std::erase_if(ended_, [=](const auto& entry) { return entry.second >= global_step; });
  if (!find(epoch)) epochs_.push_back({epoch, {}, {}});
  if (!find(epoch)->shards.emplace(shard, Shard{server, global_step, {}, {}}).second) {
    violated("shard " + std::to_string(shard) + " began epoch " + std::to_string(epoch) + " twice");
  }
}

void Ledger::applied(const cluster::ObservedUpdate& update) {
  Epoch* const epoch = find(update.epoch);
  const auto found = epoch ? epoch->shards.find(update.shard) : std::map<int, Shard>::iterator();
  if (!epoch || found == epoch->shards.end() || found->second.server != update.server) {
    return violated(text(update) + " was applied by shard " + std::to_string(update.shard) +
                    ", which has not begun that epoch");
  }
  if (newest_[update.shard] != update.epoch) {
    return violated(text(update) + " was applied by shard " + std::to_string(update.shard) +
                    ", which is in another epoch since");
  }
  if (update.made_in_epoch != update.epoch) {
    violated(text(update) + " was applied by shard " + std::to_string(update.shard) + ", and made of weights of epoch " +
             std::to_string(update.made_in_epoch));
  }
  Shard& shard = found->second;
  if (!shard.updates.insert({update.trainer, update.process, update.ordinal}).second) {
    violated(text(update) + " was applied twice by shard " + std::to_string(update.shard));
  }
  check_chain(*epoch, shard, update);
  if (update.shard != 0) return;
  ++updates_;
  const auto last = shard.last_ordinal.find(update.trainer);
  if (last != shard.last_ordinal.end() &&
      (may_drop_ ? update.ordinal <= last->second : update.ordinal != last->second + 1)) {
    violated(text(update) + " follows its update " + std::to_string(last->second) + ": a batch was repeated or left out");
  }
  shard.last_ordinal[update.trainer] = update.ordinal;
  ended_.erase(update.trainer);
}

/// Every shard applies the same commits, of the same contributors, one after another; and each is a step.
void Ledger::check_chain(Epoch& epoch, Shard& shard, const cluster::ObservedUpdate& update) {
  const std::string where = " on shard " + std::to_string(update.shard);
  if (update.commit != shard.commit && update.commit != shard.commit + 1) {
    violated(text(update) + " is of commit " + std::to_string(update.commit) + ", after commit " +
             std::to_string(shard.commit) + where);
  }
  if (update.commit != shard.commit) shard.contributors = 0;
  shard.commit = update.commit;
  std::vector<Update>& contributors = epoch.chain[update.commit];
  const Update own{update.trainer, update.process, update.ordinal};
  const size_t place = shard.contributors++;
  if (place == contributors.size()) contributors.push_back(own);
  if (contributors[place] != own) {
    violated(text(update) + " is in commit " + std::to_string(update.commit) + where +
             " where another shard has an update of trainer " + std::to_string(contributors[place].trainer));
  }
  if (update.global_step != shard.base + update.commit - 1) {
    violated("after commit " + std::to_string(update.commit) + " from step " + std::to_string(shard.base) +
             " the global step is " + std::to_string(update.global_step) + where);
  }
}

void Ledger::holds(int shard, uint64_t bytes, uint64_t most) {
  memory_beyond_ = std::max(memory_beyond_, int64_t(bytes) - int64_t(most));
  if (bytes <= most + messages_) return;
  violated("shard " + std::to_string(shard) + " has " + std::to_string(bytes) +
           " bytes of buffers in use, and its formula says " + std::to_string(most));
}

void Ledger::counted(const cluster::ObservedUpdate& update) {
  const Epoch* const epoch = find(update.epoch);
  if (!epoch) return violated(text(update) + " was answered in an epoch that nobody began");
  for (int shard = 0; shard < shards_; ++shard) {
    const auto found = epoch->shards.find(shard);
    const bool held =
        found != epoch->shards.end() && found->second.updates.contains({update.trainer, update.process, update.ordinal});
    if (!held) violated(text(update) + " was answered, and shard " + std::to_string(shard) + " has not applied it");
  }
}

void Ledger::stepped(int trainer, uint64_t global_step) {
  const auto [place, fresh] = heard_.try_emplace(trainer, global_step);
  if (!fresh && global_step < place->second) ++rollbacks_[trainer];
  place->second = global_step;
}

void Ledger::ended(int trainer, uint64_t global_step) { ended_[trainer] = global_step; }

void Ledger::replaced(int trainer) {
  if (!ended_.contains(trainer)) {
    replaced_ = true;
  } else {
    violated("the input of trainer " + std::to_string(trainer) + " has ended, and the others make its share");
  }
}

const Ledger::Shard* Ledger::sequencer() const {
  if (epochs_.empty() || !epochs_.back().shards.contains(0)) return nullptr;
  return &epochs_.back().shards.at(0);
}

uint64_t Ledger::last_step() const {
  const Shard* const shard = sequencer();
  return shard ? shard->base + shard->commit - 1 : 0;
}

std::string Ledger::apart() const {
  if (epochs_.empty()) return {};
  const Epoch& epoch = epochs_.back();
  for (const auto& [number, shard] : epoch.shards) {
    const bool whole = shard.commit == 1 || shard.contributors == epoch.chain.at(shard.commit).size();
    const auto& first = epoch.shards.begin()->second;
    if (shard.commit == first.commit && whole) continue;
    return "shard " + std::to_string(number) + " ended with commit " + std::to_string(shard.commit) +
           ", and another one with commit " + std::to_string(first.commit);
  }
  return {};
}

}  // namespace shoal::simulation
