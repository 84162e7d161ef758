// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The inside of a dataset: Node describes (immutable, shared), Stage walks (one per node and iterator).
///
/// One thread uses a stage at a time. After an error of a stage only ignore_errors asks that stage again: the iterator stays at
/// the error.
#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "item.h"
#include "shoal/base/random.h"
#include "shoal/base/stop.h"
#include "shoal/data/dataset.h"
#include "stage_meter.h"
#include "state.h"

namespace shoal::data {

class Stage {
 public:
  virtual ~Stage() = default;
  /// The next element into `item`; false at the end of the pass, and again whenever asked after it.
  virtual Result<bool> next(Item& item) = 0;
  /// Passes over up to `count` elements and returns how many there were. The default calls next(); how often it asks for a
  /// stop bounds how late a stop is noticed.
  virtual Result<int64_t> skip(int64_t count);
  /// After an error of next(): returns true if only that one element failed. Then next() may be called for the element behind it.
  virtual bool fails_for_one_element() const { return false; }
  /// Begins the next pass, from wherever the stage is.
  virtual Result<void> restart() = 0;
  /// The position after the last element handed out. At most a few hundred bytes per stage.
  virtual Result<void> save(StateWriter& out) const = 0;
  /// The reverse, on a new stage of an equal node or an old one. Bytes come from a file: every number is checked.
  virtual Result<void> load(StateReader& in) = 0;
};

/// State that the stages of one iterator share while they are made and while they run.
class StageContext {
 public:
  StageContext(Environment& environment, IterateOptions iterate_options)
      : env(environment), options(std::move(iterate_options)) {
    if (options.measure) meters.emplace();
  }
  /// The context for the stages of a dataset that is made from an element of another dataset. Its random operations that have no seed of
  /// their own use `key`, the key of that element. `parent` outlives it.
  StageContext(StageContext& parent, RandomKey key);

  /// The sequence of the next random operation, in construction order: by the operation's own seed, else by the run's.
  RandomKey next_random_key(std::optional<int64_t> operation_seed);

  /// Called while stages are made, for the files that one of them reads; the paths outlive the context, unless it has a parent. Gives the
  /// number of the first among the files of all stages. Any thread.
  uint64_t add_files(const std::vector<std::string>& paths);
  /// The record that begins at `line` (counted from 1) of the file with that number.
  static RecordId record_at(uint64_t file, uint64_t line);
  /// The record with this number, counted from 1, of a file without lines.
  static RecordId numbered_record(uint64_t file, uint64_t number);
  /// "jan.csv, line 12"; empty if no record is known. Any thread.
  std::string place_of(RecordId record) const;

  Environment& env;
  const IterateOptions options;
  /// Set if stages are measured. The stages of datasets that a stage makes have none: their work counts for that stage.
  std::optional<StageMeters> meters;
  /// Stops where somebody asks for it (IterateOptions::stop), and where the iterator is being destroyed.
  const StopSource stopping{options.stop};
  /// For what waits, or is given away: generators, and readers of files.
  const StopToken stop = stopping.token();
  bool is_stopping() const { return is_stopping_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> is_stopping_{false};  // Copy of the stop token's state, which costs only a load.
  const StopCallback on_stop_{stop, [this] { is_stopping_.store(true, std::memory_order_relaxed); }};
  uint64_t random_operations_ = 0;
  std::optional<uint64_t> fresh_;

  StageContext* const parent_ = nullptr;
  const std::optional<RandomKey> key_;

  // Guards the list of files, which only the outermost context has.
  mutable std::mutex files_mutex_;
  std::vector<const std::string*> files_;
  std::deque<std::string> kept_paths_;  // Names of files whose datasets do not live as long as the iterator.
  std::map<std::string, uint64_t> kept_lists_;  // The first file of each list of paths, by all its paths.
};

/// Returns Cancelled when the iterator is to stop. Every source calls this for each element, and so does every loop of a
/// stage that may run without an element of a source, as when it skips.
inline Result<void> check_stopping(const StageContext& context) {
  if (context.is_stopping()) return cancelled();
  return {};
}

class Node {
 public:
  using Inputs = std::vector<std::shared_ptr<const Node>>;
  explicit Node(Inputs inputs = {}) : inputs_(std::move(inputs)) {}
  virtual ~Node() = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  /// `context` outlives the stage. Inputs first, left to right, so that random operations are numbered alike everywhere.
  virtual Result<std::unique_ptr<Stage>> make_stage(StageContext& context) const = 0;
  /// Makes the stage, and measures it if the context measures. Nodes call this to make the stages of their inputs.
  Result<std::unique_ptr<Stage>> stage(StageContext& context) const;
  /// The method of Dataset that made it, for statistics; a literal.
  virtual std::string_view kind() const = 0;
  /// Kind and parameters, folded into `key`; nothing for a stage that changes neither contents nor order nor position.
  virtual RandomKey fold_parameters(RandomKey key) const = 0;
  /// Dataset::is_finite and Dataset::cardinality of this node, from those of its inputs. The default is that of the only
  /// input.
  virtual std::optional<bool> is_finite() const { return inputs_.at(0)->is_finite(); }
  virtual std::optional<int64_t> cardinality() const { return inputs_.at(0)->cardinality(); }

  /// True if the node's stages continue after an error of one element (Stage::fails_for_one_element).
  virtual bool has_errors_of_elements() const { return false; }
  virtual bool is_shuffle() const { return false; }
  virtual bool is_unseeded_shuffle() const { return false; }
  /// Why an element of the input may come at another position in another iteration, or in another pass of one; empty: it does not.
  virtual std::string_view moves_elements() const { return {}; }
  /// Whether a node selects elements by their positions: take and skip, whose opposite parts people use for evaluation.
  virtual bool cuts_by_position() const { return false; }
  /// True if `other`, a node of the same kind, parameters and inputs, has the same data, which fold_parameters() leaves
  /// out.
  virtual bool has_data_of(const Node&) const { return true; }
  virtual bool is_shard() const { return false; }
  virtual bool depends_on_trainer() const { return false; }
  /// Dataset::repeats_for_ever of this node.
  virtual bool repeats_for_ever() const { return inputs_.size() == 1 && input().repeats_for_ever(); }

  const Inputs& inputs() const { return inputs_; }
  const Node& input() const { return *inputs_.front(); }

 private:
  Inputs inputs_;
};

}  // namespace shoal::data
