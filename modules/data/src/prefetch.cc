// SPDX-License-Identifier: Apache-2.0
// prefetch: a background job prepares the next elements. A saved position follows the last element returned, not those
// prepared: each prepared element is stored together with the position after it.
#include <algorithm>
#include <deque>

#include "background_stage.h"
#include "nodes.h"
#include "workers.h"

namespace shoal::data {
namespace {

constexpr int64_t kAutomaticFirst = 2, kAutomaticMax = 16;

class PrefetchStage final : public BackgroundStage {
 public:
  PrefetchStage(StageContext& context, std::unique_ptr<Stage> input, int64_t count)
      : context_(context),
        input_(std::move(input)),
        automatic_(count < 0),
        limit_(automatic_ ? kAutomaticFirst : count),
        workers_(context.env.pool(), 1, [this](Workers::Lock& lock) { return prepare(lock); }) {}

  Result<bool> next(Item& item) override {
    Workers::Lock lock = workers_.lock();
    if (!begun_) begin();
    while (ready_.empty()) {
      if (final_) return *final_;
      if (!preparing_) {
        prepare(lock);
        continue;
      }
      if (automatic_) limit_ = std::min(limit_ * 2, kAutomaticMax);
      workers_.wait(lock);
    }
    Slot slot = std::move(ready_.front());
    ready_.pop_front();
    std::swap(item, slot.item);
    std::swap(position_, slot.position);
    spare_.push_back(std::move(slot));
    if (may_prepare()) workers_.call(lock);
    return true;
  }

  void start() override {
    Workers::Lock lock = workers_.lock();
    if (!begun_) begin();
    if (may_prepare()) workers_.call(lock);
  }
  bool is_ready() const override {
    const Workers::Lock lock = workers_.lock();
    return !ready_.empty() || final_;
  }

  Result<void> restart(uint64_t pass) override {
    clear();
    const Result<void> restarted = input_->restart(pass);
    workers_.resume();
    return restarted;
  }

  Result<void> save(StateWriter& out) const override {
    const Workers::Lock lock = workers_.lock();
    if (!begun_) return input_->save(out);
    if (unsaved_) return *unsaved_;
    out.raw(position_);
    return {};
  }

  Result<void> load(StateReader& in) override {
    clear();
    const Result<void> loaded = input_->load(in);
    workers_.resume();
    return loaded;
  }

 private:
  struct Slot {
    Item item;
    std::string position;  ///< The saved state of the input right after `item`.
  };

  /// Called before the background job starts, so the consumer's thread may still use the input.
  void begin() {
    begun_ = true;
    unsaved_ = save_input(position_);
  }

  std::optional<Error> save_input(std::string& position) const {
    position.clear();
    StateWriter writer(position);
    if (Result<void> saved = input_->save(writer); !saved) return std::move(saved).error();
    return std::nullopt;
  }

  /// True if another element may be prepared. After a restart(), a background job of the earlier pass may still call this
  /// function before begin() is called for the new pass. It returns false then.
  bool may_prepare() const { return begun_ && !preparing_ && !final_ && int64_t(ready_.size()) < limit_; }

  /// Reads one element into `ready_`. If the input ends or fails, stores that result in `final_`.
  bool prepare(Workers::Lock& lock) {
    if (!may_prepare()) return false;
    preparing_ = true;
    Slot slot;
    if (!spare_.empty()) {
      slot = std::move(spare_.back());
      spare_.pop_back();
    }
    const bool saving = !unsaved_;
    lock.unlock();
    Result<bool> more = check_stopping(context_) ? input_->next(slot.item) : Result<bool>(cancelled());
    std::optional<Error> unsaved;
    if (more && *more && saving) unsaved = save_input(slot.position);
    lock.lock();
    if (unsaved) unsaved_ = std::move(unsaved);
    if (more && *more) {
      ready_.push_back(std::move(slot));
    } else {
      final_ = std::move(more);
    }
    preparing_ = false;
    workers_.changed();
    return true;
  }

  /// Stops the background job and forgets prepared elements; workers_.resume() starts the job again.
  void clear() {
    Workers::Lock lock = workers_.lock();
    workers_.pause(lock);
    for (; !ready_.empty(); ready_.pop_front()) spare_.push_back(std::move(ready_.front()));
    final_.reset();
    unsaved_.reset();
    begun_ = false;
  }

  StageContext& context_;
  std::unique_ptr<Stage> input_;  ///< The input. Only the thread that set `preparing_` uses it.
  const bool automatic_;
  std::string position_;  ///< The input's saved state after the element that next() returned last.

  // The workers' mutex guards the members below.
  bool begun_ = false;
  int64_t limit_;
  bool preparing_ = false;
  std::deque<Slot> ready_;
  std::vector<Slot> spare_;
  std::optional<Result<bool>> final_;  ///< How the input ended: false or an error. next() returns it once ready_ is empty.
  std::optional<Error> unsaved_;       ///< Set if the input cannot save its position.

  // The workers are the last member, because their destructor waits for jobs that use the other members.
  mutable Workers workers_;
};

class PrefetchNode final : public Node {
 public:
  PrefetchNode(NodePtr input, int64_t count) : Node({std::move(input)}), count_(count) {}
  Result<std::unique_ptr<Stage>> make_stage(StageContext& context) const override {
    SHOAL_TRY(std::unique_ptr<Stage> stage, input().stage(context));
    if (context.meters) context.meters->open().waits = context.meters->open().is_border = true;
    return std::make_unique<PrefetchStage>(context, std::move(stage), count_);
  }
  std::string_view kind() const override { return "prefetch"; }
  bool passes_elements_on() const override { return true; }
  /// Adds nothing to the key: contents, order and saved positions are those of the input for every `count_`. So a run may
  /// resume with another count.
  RandomKey fold_parameters(RandomKey key) const override { return key; }

 private:
  int64_t count_;
};

}  // namespace

std::unique_ptr<BackgroundStage> make_background_stage(StageContext& context, std::unique_ptr<Stage> input, int64_t count) {
  return std::make_unique<PrefetchStage>(context, std::move(input), count);
}

NodePtr make_prefetch_node(NodePtr input, int64_t count) { return std::make_shared<PrefetchNode>(std::move(input), count); }

}  // namespace shoal::data
