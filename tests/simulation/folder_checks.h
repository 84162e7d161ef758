// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What `model_dir` holds when a chief has gone, and when a job has ended, and what about that may not be.
#include <optional>
#include <string>
#include <vector>

#include "job.h"
#include "plan.h"
#include "shoal/checkpoint/directory.h"
#include "shoal/testing/world.h"

namespace shoal::simulation {

/// While this lives, nothing that is read fails.
class SoundDisk {
 public:
  explicit SoundDisk(testing::SimulatedDisk& disk) : disk_(disk), faults_(disk.faults()) { disk.set_faults({}); }
  ~SoundDisk() { disk_.set_faults(faults_); }
  SoundDisk(const SoundDisk&) = delete;
  SoundDisk& operator=(const SoundDisk&) = delete;

 private:
  testing::SimulatedDisk& disk_;
  const testing::DiskFaults faults_;
};

/// How a job ended, as far as its folder must agree with it.
struct JobEnding {
  std::optional<uint64_t> step{};  ///< The step that the servers have come to, if they held it in the end.
  int64_t kills = 0;               ///< The number of kills: each may have passed max_steps by one update.
  bool interrupted = false;        ///< True if the job was interrupted before its time.
  bool stopped = false;            ///< True if a hook of the chief asked for the end.
  bool evaluated = false;          ///< True if somebody had to evaluate the last checkpoint.
};

class FolderChecks {
 public:
  FolderChecks(testing::World& world, const Plan& plan, const JobNotes& notes)
      : world_(world), plan_(plan), notes_(notes) {}

  // Each gives what it found, as sentences.
  /// However a chief ended: what is named loads, and the newest that anyone heard of is among it, or one after it.
  std::vector<std::string> after_the_chief();
  /// Each checkpoint that is named loads, and the last one is where the job ended.
  std::vector<std::string> at_the_end(const JobEnding& ending);
  /// Bits were turned over in checkpoints: of those that are listed, are all damaged, or the newest? And is a sentence
  /// about one of them?
  bool all_damaged();
  bool newest_damaged();
  bool names_a_damaged_one(const std::string& sentence) const;
  /// Where a job must learn what it would have learned without faults, and without a cluster: it has. That is a local
  /// job, or without compression one trainer alone, or synchronous steps of all trainers if `all_took_part`.
  std::vector<std::string> against_a_local_run(bool all_took_part);

 private:
  void check_counts(const std::string& name);
  void check_values(const std::string& name);
  void check_list(const std::vector<checkpoint::ListedCheckpoint>& listed);
  void check_kept(size_t listed);
  bool flipped(const std::string& name) const;
  void check_mark(const std::string& newest);
  void check_last_step(int64_t last, const JobEnding& ending);
  void check_exports();
  void check_that_exports_load();
  void compare_weights();
  void violated(std::string sentence) { violations_.push_back(std::move(sentence)); }

  testing::World& world_;
  const Plan& plan_;
  const JobNotes& notes_;
  std::vector<std::string> violations_;
};

}  // namespace shoal::simulation
