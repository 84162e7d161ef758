// SPDX-License-Identifier: Apache-2.0
// map() with threads: up to `parallel` calls run at once. The consumer takes inputs; background jobs (or the consumer, if
// no job was quicker) call the function. A saved position is that of the elements returned so far, not of
// those read ahead.
#include <algorithm>
#include <chrono>
#include <deque>

#include "nodes.h"
#include "workers.h"

namespace shoal::data {
namespace {

constexpr int kAutomaticCallsFirst = 2, kAutomaticCallsMax = 16;

/// Returns how many calls may run at once. A stage that adapts the number needs no more calls than the pool has threads.
int calls_max(const MapOptions& options, const JobPool& pool) {
  if (options.parallel > 0) return options.parallel;
  return std::clamp(pool.threads(), 1, kAutomaticCallsMax);
}

class ParallelMapStage final : public Stage {
 public:
  ParallelMapStage(StageContext& context, std::unique_ptr<Stage> input, const MapFn& fn, MapOptions options)
      : context_(context),
        input_(std::move(input)),
        fn_(fn),
        options_(options),
        meter_(context.meters ? &context.meters->open() : nullptr),
        calls_max_(calls_max(options, context.env.pool())),
        calls_(options.parallel > 0 ? calls_max_ : std::min(kAutomaticCallsFirst, calls_max_)),
        workers_(context.env.pool(), calls_max_, [this](Workers::Lock& lock) { return work(lock); }) {}

  Result<bool> next(Item& item) override {
    failed_ = false;
    if (!begun_) begin();
    Workers::Lock lock = workers_.lock();
    read_ahead(lock);
    bool has_waited = false;
    while (true) {
      drop_gone();
      if (slots_.empty()) {  // Every input that was read so far has been returned.
        if (ended_) return false;
        read_ahead(lock);
        continue;
      }
      Slot& slot = wanted();
      if (slot.state == State::kDone) return hand_out(slot, item, lock);
      if (slot.state == State::kQueued) {
        call(slot, lock);
      } else {
        if (!std::exchange(has_waited, true)) allow_more_calls(lock);
        if (wanted().state == State::kRunning) workers_.wait(lock);
      }
    }
  }

  bool fails_for_one_element() const override { return failed_; }

  Result<int64_t> skip(int64_t count) override {
    if (begun_) return Stage::skip(count);  // Elements that were read ahead must be skipped first.
    if (!gone_.empty()) return Stage::skip(count);
    SHOAL_TRY(const int64_t skipped, input_->skip(count));
    first_.number += skipped;
    return skipped;
  }

  Result<void> restart(uint64_t pass) override {
    clear();
    first_ = {};
    gone_.clear();
    const Result<void> restarted = input_->restart(pass);
    workers_.resume();
    return restarted;
  }

  Result<void> save(StateWriter& out) const override {
    if (unsaved_) return *unsaved_;
    if (!options_.deterministic) save_gone(out);
    if (!begun_) return input_->save(out);
    out.raw(position_);
    return {};
  }

  Result<void> load(StateReader& in) override {
    clear();
    first_ = {.resumed = true};
    Result<void> loaded = options_.deterministic ? Result<void>() : load_gone(in);
    if (loaded) loaded = input_->load(in);
    workers_.resume();
    return loaded;
  }

 private:
  enum class State : uint8_t { kQueued, kRunning, kDone, kGone };
  struct Slot {
    Item item;
    std::string position;  ///< The input's position after `item`.
    State state = State::kQueued;
    ElementNumber number;
    bool was_read = false;  ///< True if the input gave an element. Then `error`, if set, comes from fn_.
    std::optional<Error> error;
  };

  /// Saves the position of the input before this stage reads from it. From now on, read_ and the numbers in gone_ count the
  /// inputs from that position.
  void begin() {
    begun_ = true;
    read_ = 0;
    save_input(position_);
  }

  void save_input(std::string& position) {
    if (unsaved_) return;
    position.clear();
    StateWriter writer(position);
    if (Result<void> saved = input_->save(writer); !saved) unsaved_ = std::move(saved).error();
  }

  /// Called when the consumer has to wait: allows more calls at once if the stage adapts their number.
  void allow_more_calls(Workers::Lock& lock) {
    if (calls_ == calls_max_) return;
    calls_ = std::min(2 * calls_, calls_max_);
    read_ahead(lock);
  }

  /// Takes inputs until calls_ inputs are queued for a call, are in a call, or wait to be returned.
  void read_ahead(Workers::Lock& lock) {
    while (!ended_ && int(slots_.size()) < calls_) {
      std::unique_ptr<Slot> slot = spare_.empty() ? std::make_unique<Slot>() : std::move(spare_.back());
      if (!spare_.empty()) spare_.pop_back();
      lock.unlock();
      ended_ = !read(*slot);
      lock.lock();
      if (ended_ && !slot->error) return;
      const bool queued = slot->state == State::kQueued;
      slots_.push_back(std::move(slot));
      if (queued) workers_.call(lock);
    }
  }

  /// Reads an input into `slot`. Returns false at the end of the input, and after an error. The error is stored in the
  /// slot, and next() returns it when it reaches the slot.
  bool read(Slot& slot) {
    slot.error.reset();
    slot.was_read = false;
    slot.number = {.number = first_.number + read_, .resumed = first_.resumed};
    const bool gone = std::binary_search(gone_.begin(), gone_.end(), read_++);
    slot.state = gone ? State::kGone : State::kQueued;
    Result<bool> more = true;
    if (gone) {
      Result<int64_t> skipped = input_->skip(1);
      more = skipped ? Result<bool>(*skipped == 1) : Result<bool>(std::move(skipped).error());
    } else {
      more = input_->next(slot.item);
    }
    if (!more) {
      slot.error = std::move(more).error();
      slot.state = State::kDone;
      return false;
    }
    slot.was_read = *more;
    if (*more) save_input(slot.position);
    return *more;
  }

  /// Called by the workers: calls the function for the oldest input that waits.
  bool work(Workers::Lock& lock) {
    for (const std::unique_ptr<Slot>& slot : slots_) {
      if (slot->state != State::kQueued) continue;
      call(*slot, lock);
      return true;
    }
    return false;
  }

  void call(Slot& slot, Workers::Lock& lock) {
    slot.state = State::kRunning;
    lock.unlock();
    Result<void> called = check_stopping(context_);
    if (called) called = measured_apply(slot);
    lock.lock();
    if (!called) slot.error = std::move(called).error();
    slot.state = State::kDone;
    workers_.changed();
  }

  Result<void> measured_apply(Slot& slot) {
    if (!meter_) return apply(fn_, slot.item, context_, slot.number);
    const SteadyTime begin = context_.env.now();
    Result<void> called = apply(fn_, slot.item, context_, slot.number);
    const auto taken = std::chrono::duration_cast<std::chrono::nanoseconds>(context_.env.now() - begin);
    meter_->work_nanoseconds.fetch_add(taken.count(), std::memory_order_relaxed);
    return called;
  }

  /// Returns the slot whose result next() returns, or for which next() has to wait.
  Slot& wanted() {
    if (!options_.deterministic) {
      for (const std::unique_ptr<Slot>& slot : slots_) {
        if (slot->state == State::kDone) return *slot;
      }
      for (const std::unique_ptr<Slot>& slot : slots_) {
        if (slot->state == State::kQueued) return *slot;
      }
    }
    return *slots_.front();
  }

  Result<bool> hand_out(Slot& slot, Item& item, Workers::Lock& lock) {
    failed_ = slot.error && slot.was_read;
    if (slot.error && !failed_) return *slot.error;
    const std::optional<Error> error = std::exchange(slot.error, std::nullopt);
    if (!error) std::swap(item, slot.item);
    slot.state = State::kGone;
    drop_gone();
    if (error) return *error;
    read_ahead(lock);  // Reads inputs for the background jobs, which work while the consumer uses the item.
    return true;
  }

  void drop_gone() {
    for (; !slots_.empty() && slots_.front()->state == State::kGone; slots_.pop_front()) {
      std::swap(position_, slots_.front()->position);
      spare_.push_back(std::move(slots_.front()));
      ++dropped_;
    }
  }

  /// If order does not matter, elements of some inputs behind the saved position may have been returned already. Saves
  /// which these are: for each such input, the number of inputs that lie between the saved position and the input.
  void save_gone(StateWriter& out) const {
    const Workers::Lock lock = workers_.lock();
    std::vector<int64_t> ahead;
    for (size_t i = 0; i < slots_.size(); ++i) {
      if (slots_[i]->state == State::kGone) ahead.push_back(int64_t(i));
    }
    const int64_t past = begun_ ? dropped_ : 0;
    for (const int64_t offset : gone_) {
      if (offset >= (begun_ ? read_ : 0)) ahead.push_back(offset - past);
    }
    out.number(ahead.size());
    for (const int64_t offset : ahead) out.number(uint64_t(offset));
  }

  Result<void> load_gone(StateReader& in) {
    gone_.clear();
    SHOAL_TRY(const int64_t count, in.count(1 << 16));
    for (int64_t i = 0; i < count; ++i) {
      SHOAL_TRY(const int64_t offset, in.count());
      if (!gone_.empty() && offset <= gone_.back()) return damaged_position();
      gone_.push_back(offset);
    }
    return {};
  }

  /// Stops the background jobs and forgets elements that were read ahead; workers_.resume() starts the jobs again.
  void clear() {
    Workers::Lock lock = workers_.lock();
    workers_.pause(lock);
    slots_.clear();
    ended_ = begun_ = false;
    read_ = dropped_ = 0;
    unsaved_.reset();
  }

  StageContext& context_;
  std::unique_ptr<Stage> input_;  ///< Only the consumer uses it.
  const MapFn& fn_;
  const MapOptions options_;
  StageMeter* const meter_;  // Null if stages are not measured.

  const int calls_max_;

  // Only the consumer uses the members below.
  int calls_;  ///< How many calls of fn_ may run at once; grows up to calls_max_.
  bool begun_ = false;
  bool ended_ = false;
  bool failed_ = false;   ///< True if the error that next() returned last came from fn_.
  std::string position_;  ///< The position of the input before the element in slots_.front().
  ElementNumber first_;   ///< The number of the first input since begin().
  int64_t read_ = 0;      ///< How many inputs were taken since begin().
  int64_t dropped_ = 0;   ///< How many inputs since begin() were returned and have left slots_.
  /// After load() of a stage that returns elements out of order: the inputs behind the loaded position whose elements had
  /// been returned before the position was saved. Ascending numbers, counted from that position.
  std::vector<int64_t> gone_;
  std::optional<Error> unsaved_;
  std::vector<std::unique_ptr<Slot>> spare_;

  // Only the consumer adds or removes slots. A thread that sets a slot to kRunning may then use that slot without the lock.
  // Everything else in slots_ is guarded by the workers' mutex.
  std::deque<std::unique_ptr<Slot>> slots_;

  // The workers are the last member, because their destructor waits for jobs that use the other members.
  mutable Workers workers_;
};

class ParallelMapNode final : public Node {
 public:
  ParallelMapNode(NodePtr input, MapFn fn, MapOptions options)
      : Node({std::move(input)}), fn_(std::move(fn)), options_(options) {}
  Result<std::unique_ptr<Stage>> make_stage(StageContext& context) const override {
    SHOAL_TRY(std::unique_ptr<Stage> stage, input().stage(context));
    if (context.meters) {
      context.meters->open().waits = true;
      context.meters->open().threads = calls_max(options_, context.env.pool());
    }
    return std::make_unique<ParallelMapStage>(context, std::move(stage), fn_, options_);
  }
  std::string_view kind() const override { return "map"; }
  bool calls_function() const override { return true; }
  /// Leaves out the number of threads: a map in order gives the same elements with any number, so a run may resume with
  /// another one.
  RandomKey fold_parameters(RandomKey key) const override {
    return fold_in(key, options_.deterministic ? "map" : "map/any order");
  }
  bool has_errors_of_elements() const override { return true; }
  bool is_in_any_order() const override { return !options_.deterministic; }
  std::string_view moves_elements() const override {
    if (options_.deterministic) return {};
    return "map that is not deterministic has another order in each iteration";
  }

 private:
  MapFn fn_;
  MapOptions options_;
};

}  // namespace

NodePtr make_parallel_map_node(NodePtr input, MapFn fn, MapOptions options) {
  return std::make_shared<ParallelMapNode>(std::move(input), std::move(fn), options);
}

}  // namespace shoal::data
