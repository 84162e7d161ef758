// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The inside of a dataset: a Node describes it (immutable, shared), a Stage walks through it (one per node and iterator).
///
/// One thread at a time uses a stage. Once a stage has returned an error, it is not called again, except by the stage of
/// ignore_errors(). The iterator returns the same error from then on.
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
  /// Writes the next element into `item`; false at the end of the pass, and in all later calls of the pass.
  virtual Result<bool> next(Item& item) = 0;
  /// Passes over up to `count` elements and returns how many there were. The default calls next(). Long skips must check
  /// for a stop often, so that a stop is noticed soon.
  virtual Result<int64_t> skip(int64_t count);
  /// After an error of next(): returns true if only that one element failed. Then next() may be called again.
  virtual bool fails_for_one_element() const { return false; }
  /// Begins pass number `pass`, wherever in a pass the stage is. A new stage is in pass 0. All that a pass gives follows from
  /// its number: a stage that reads ahead may have brought its input into any pass, and how far it has come depends on
  /// threads.
  virtual Result<void> restart(uint64_t pass) = 0;
  /// Writes the position after the element returned last: at most a few hundred bytes per stage.
  virtual Result<void> save(StateWriter& out) const = 0;
  /// Moves this stage, which may be new or used, to the position that save() wrote for a stage of an equal node. Checks
  /// each number, since it may come from a damaged file.
  virtual Result<void> load(StateReader& in) = 0;
};

/// What a later stage needs of the positions of elements. Whether the datasets that flat_map() and interleave() make keep
/// them is known only when these are made.
enum class PositionNeed : uint8_t {
  kNone,
  kSameOnAllTrainers,  ///< For shard().
  kFixed,              ///< For split(): the same in each iteration and pass.
};

/// The state that the stages of one iterator share, while they are made and while they run.
class StageContext {
 public:
  StageContext(Environment& environment, IterateOptions iterate_options)
      : env(environment), options(std::move(iterate_options)) {
    if (options.measure) meters.emplace();
  }
  /// The context for the stages of a dataset that is made from an element of another dataset. The dataset's random
  /// operations that have no seed of their own use `key`, the key of that element. `parent` outlives the context.
  StageContext(StageContext& parent, RandomKey key);

  /// Returns the key of the random operation that is constructed next, from the operation's own seed, else the run's seed.
  RandomKey next_random_key(std::optional<int64_t> operation_seed);

  /// Called when a stage is made: registers the files that the stage will read. Returns the number of the first of these
  /// files. The paths must outlive the context; a context with a parent (see the constructor) copies them instead. Any
  /// thread.
  uint64_t add_files(const std::vector<std::string>& paths);
  /// Returns the record that begins at `line` (counted from 1) of file number `file`.
  static RecordId record_at(uint64_t file, uint64_t line);
  /// Returns record number `number`, counted from 1, of a file without lines.
  static RecordId numbered_record(uint64_t file, uint64_t number);
  /// Returns text such as "jan.csv, line 12"; empty if no record is known. Any thread.
  std::string place_of(RecordId record) const;

  Environment& env;
  const IterateOptions options;
  /// While stages are made: true if a later stage keeps all elements until the pass ends (Node::reads_to_the_end()).
  bool must_end = false;
  /// What the stages need of positions that take their elements from the stage that is made next.
  PositionNeed position_need = PositionNeed::kNone;
  /// Set if stages are measured. The stages of the datasets that flat_map() or interleave() makes have no meters: their
  /// work counts as the work of the flat_map or interleave stage.
  std::optional<StageMeters> meters;
  /// True if the stages are made only to learn the types of the elements (Dataset::typical_element()). No stage then leaves
  /// elements out.
  bool types_only = false;
  /// Used with types_only. True if the stages made so far may give elements that the real pipeline never gives, so that no
  /// function of a user may be called with them.
  bool has_unfit_elements = false;
  /// Stops when the user's token does (IterateOptions::stop), and when the iterator is destroyed.
  const StopSource stopping{options.stop};
  /// The token of `stopping`, for code that may wait. Generators and readers of files get a copy.
  const StopToken stop = stopping.token();
  bool is_stopping() const { return is_stopping_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> is_stopping_{false};  // A copy of the state of `stop` that is cheap to read: a single load.
  const StopCallback on_stop_{stop, [this] { is_stopping_.store(true, std::memory_order_relaxed); }};
  uint64_t random_operations_ = 0;
  std::optional<uint64_t> fresh_;

  StageContext* const parent_ = nullptr;
  const std::optional<RandomKey> key_;

  // Guards the members below, which list the files that the iterator reads. A context with a parent uses the list of its
  // outermost ancestor.
  mutable std::mutex files_mutex_;
  std::vector<const std::string*> files_;
  std::deque<std::string> kept_paths_;          // Copies of paths, for datasets that are destroyed before the iterator.
  std::map<std::string, uint64_t> kept_lists_;  // Key: the paths of one add_files() as one text. Value: its result.
};

/// Returns Cancelled if the iterator has to stop. Every source calls this for each element, and so does every loop of a
/// stage that may run without taking an element from a source, as in a skip.
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

  /// `context` outlives the stage. Makes the stages of the inputs first, from left to right, so that all trainers construct
  /// the random operations of a pipeline in the same order and give them the same numbers.
  virtual Result<std::unique_ptr<Stage>> make_stage(StageContext& context) const = 0;
  /// As make_stage(), but also measures the stage if the context has meters, and tells the stages of the inputs whether they
  /// have to end (StageContext::must_end). Nodes call this for their inputs.
  Result<std::unique_ptr<Stage>> stage(StageContext& context) const;
  /// The method of Dataset that made the node, for statistics; a literal.
  virtual std::string_view kind() const = 0;
  /// For Dataset::fingerprint(): folds the kind and the parameters of the node into `key`. Returns `key` itself for a node
  /// that changes neither contents nor order nor positions, such as prefetch.
  virtual RandomKey fold_parameters(RandomKey key) const = 0;
  /// The results of Dataset::is_finite() and Dataset::cardinality() for this node, which follow from those for its inputs.
  /// By default they are those for the node's only input.
  virtual std::optional<bool> is_finite() const { return inputs_.at(0)->is_finite(); }
  virtual std::optional<int64_t> cardinality() const { return inputs_.at(0)->cardinality(); }

  /// True if the node's stages continue after an error of one element (Stage::fails_for_one_element).
  virtual bool has_errors_of_elements() const { return false; }
  virtual bool is_shuffle() const { return false; }
  /// True for a random operation without a seed: it draws other numbers in each iteration, and so on each trainer.
  virtual bool draws_without_seed() const { return false; }
  /// True if the stages give their elements in an order that depends on which thread was first.
  virtual bool is_in_any_order() const { return false; }
  /// True for a map whose function draws random numbers, with or without a seed.
  virtual bool gives_random_values() const { return false; }
  /// True if a user's function looks at each element and decides whether it passes, when it does, or how many are made of it.
  virtual bool chooses_by_value() const { return false; }
  /// Returns why an element may have another position in another iteration or pass; empty if positions are fixed.
  virtual std::string_view moves_elements() const { return {}; }
  /// True for take and skip: they select elements by position, and often divide data into training and evaluation.
  virtual bool cuts_by_position() const { return false; }
  /// True if this node has the same data (such as tensors) as `other`, a node of equal kind, parameters and inputs.
  /// fold_parameters() leaves data out.
  virtual bool has_data_of(const Node&) const { return true; }
  virtual bool is_shard() const { return false; }
  /// True if each element of the node is an element of its only input, unchanged. The node only chooses elements, orders
  /// them, repeats them or keeps them.
  virtual bool passes_elements_on() const { return false; }
  /// True if the node calls a function of the user with elements of its inputs.
  virtual bool calls_function() const { return false; }
  virtual bool depends_on_trainer() const { return false; }
  /// True if a pass of the node needs the end of its inputs, as that of cache, which keeps all their elements until then.
  /// False if a pass may end before the inputs do, as that of take. Unset: it ends with its inputs.
  virtual std::optional<bool> reads_to_the_end() const { return std::nullopt; }
  /// Dataset::repeats_for_ever() of this node.
  virtual bool repeats_for_ever() const { return inputs_.size() == 1 && input().repeats_for_ever(); }

  const Inputs& inputs() const { return inputs_; }
  const Node& input() const { return *inputs_.front(); }

 private:
  Inputs inputs_;
};

}  // namespace shoal::data
