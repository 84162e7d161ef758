// SPDX-License-Identifier: Apache-2.0
#include "shoal/cluster/local_store.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string_view>

#include "job/quote.h"
#include "shoal/base/compute.h"
#include "shoal/base/nearest_text.h"
#include "shoal/cluster/poison.h"
#include "state/row_codec.h"
#include "state/row_sums.h"
#include "trainer/bindings.h"

namespace shoal::cluster {
namespace {

/// References to the weights and slots at one moment. The shard's next update does not overwrite referenced buffers.
class LocalSnapshot final : public Snapshot {
 public:
  LocalSnapshot(StateInfo info, ShardPlan plan, std::vector<Ref<const Buffer>> arenas)
      : info_(std::move(info)), plan_(std::move(plan)), arenas_(std::move(arenas)) {}
  const StateInfo& info() const override { return info_; }
  const ShardPlan& plan() const override { return plan_; }
  Task<Result<Part>> read(int shard, ArenaIndex arena, uint64_t offset, uint64_t bytes) override {
    SHOAL_CHECK(shard == 0 && size_t(arena) < arenas_.size());
    const Ref<const Buffer>& held = arenas_[size_t(arena)];
    SHOAL_CHECK(offset <= held->size() && bytes <= held->size() - offset);
    co_return Part{held->bytes().subspan(offset, bytes), held};
  }
  Task<Result<void>> release() override {
    arenas_.clear();
    co_return Result<void>{};
  }

 private:
  StateInfo info_;
  ShardPlan plan_;
  std::vector<Ref<const Buffer>> arenas_;
};

class LocalStore final : public Store, private backends::UpdateApplier {
 public:
  LocalStore(Environment& env, ShardPlan plan, LocalStoreOptions options)
      : env_(env),
        options_(options),
        plan_(std::move(plan)),
        shard_(plan_.shards.at(0), env.buffers()),
        weights_(env.buffers().get(plan_.shards[0].arena_bytes)),
        replicas_(size_t(options.replicas)) {
    for (Replica& replica : replicas_) replica.updates = env.buffers().get(plan_.shards[0].arena_bytes);
  }

  Task<Result<Ready>> prepare(RestoreSource* restore, Deadline) override {
    const auto bring = [this, restore] { return restore ? load(*restore) : shard_.initialize(weights_->bytes()); };
    SHOAL_CO_TRY_VOID(co_await compute(env_, bring));
    shard_.begin(weights_->bytes());
    applying_ = false;
    next_ = {};
    ended_.clear();
    poison_.reset();
    ++epoch_;
    Ready ready{.global_step = global_step_, .epoch = epoch_};
    if (restore) {
      const auto& positions = restore->info().positions;
      if (auto found = positions.find(0); found != positions.end()) ready.position = found->second;
      for (const auto& [trainer, position] : positions) {
        if (trainer > 0 && trainer < options_.replicas) ready.other_positions.emplace(trainer, position);
      }
    }
    co_return ready;
  }

  Task<Result<Ready>> attach(Deadline deadline) override { return prepare(nullptr, deadline); }

  Result<void> bind(const std::vector<std::string>& variables, const std::vector<std::string>& updates,
                    const std::vector<std::string>& by_rows) override {
    SHOAL_TRY_VOID(bind_rows(by_rows));
    SHOAL_TRY_VOID(bindings_.bind(plan_, variables, updates));
    update_segments_.clear();
    const auto segments = segments_by_name();
    // at() cannot fail: bindings_.bind() has found all updates.
    for (const std::string& name : updates) update_segments_.push_back(segments.at(name));
    return {};
  }

  Task<Result<Step>> begin(StopToken) override {
    if (applying_) co_return torn();
    bindings_.set_weights(0, weights_->data());
    computed_ = 0;
    bindings_.set_updates(0, replicas_[0].updates->data());
    co_return Step{.global_step = global_step_,
                   .weights = {epoch_, shard_.counters().version + 1},
                   .variables = bindings_.variables(),
                   .updates = bindings_.updates()};
  }

  Result<void> start(Step& step, uint64_t, std::string_view) override {
    bindings_.set_updates(0, replicas_[computed_].updates->data());
    step.updates = bindings_.updates();
    return {};
  }

  backends::UpdateApplier* apply_during_run(std::span<const double> scalars) override {
    SHOAL_CHECK(!applying_ && scalars.size() == size_t(shard_.spec().scalar_count));
    scalars_.assign(scalars.begin(), scalars.end());
    // If a snapshot still reads weights_, the updates write to new memory.
    if (!weights_->unique()) next_ = env_.buffers().get(weights_->size());
    shard_.begin_update();
    applying_ = true;
    return this;
  }

  Result<void> add_rows(Step&, std::span<const RowGradients> gradients) override {
    Replica& replica = replicas_[computed_];
    SHOAL_TRY_VOID(sum_rows(gradients, shard_.spec().denormals, replica.row_sums));
    for (size_t i = 0; i < summed_.size(); ++i) take_rows(*summed_[i], replica.row_sums[i], replica.rows[i]);
    return {};
  }

  void note_end_of_input(int trainer) override { ended_.insert(trainer); }

  Result<void> next_replica(std::span<const double> scalars) override {
    if (applying_ || computed_ + 1 >= replicas_.size()) {
      return failed_precondition("the step has more contributions than there are replicas");
    }
    replicas_[computed_++].scalars.assign(scalars.begin(), scalars.end());
    return {};
  }

  Task<Result<Outcome>> commit(Step, std::span<const double> scalars) override {
    const auto update = [this, scalars] { return applying_ ? finish() : apply_all(scalars); };
    SHOAL_CO_TRY_VOID(co_await compute(env_, update));
    global_step_ += options_.advances_global_step;
    if (const std::optional<Error> poison = look_for_poison()) co_return *poison;
    co_return Outcome{.global_step = global_step_};
  }

  void withdraw() override {
    if (!applying_) return;
    shard_.withdraw_update();
    next_ = {};
    applying_ = false;
  }

  bool wants_positions() const override { return false; }

  Task<Result<std::unique_ptr<Snapshot>>> snapshot(Positions own_positions) override {
    if (applying_) co_return torn();
    if (poison_) co_return *poison_;
    std::erase_if(own_positions, [](const auto& entry) { return entry.second.empty(); });
    StateInfo info{
        .global_step = global_step_, .shards = {shard_.counters()}, .positions = std::move(own_positions), .residuals = {}};
    for (const int trainer : ended_) {
      if (info.positions.contains(trainer)) info.ended.insert(trainer);
    }
    std::vector<Ref<const Buffer>> arenas{weights_};
    for (const Ref<Buffer>& slot : shard_.slots()) arenas.push_back(slot);
    co_return std::unique_ptr<Snapshot>(new LocalSnapshot(std::move(info), plan_, std::move(arenas)));
  }

  Task<Result<void>> check_lease() override { co_return Result<void>{}; }
  Task<Result<void>> stay(StopToken) override { co_return Result<void>{}; }
  bool lost() const override { return false; }
  Task<Result<uint64_t>> global_step() override { co_return global_step_; }
  const ShardPlan& plan() const override { return plan_; }
  Result<TensorView> variable(std::string_view name) const override {
    if (applying_) return torn();
    for (const Segment& segment : shard_.spec().segments) {
      if (segment.variable.name != name) continue;
      return TensorView{segment.variable.dtype, segment.variable.shape, weights_->data() + segment.offset};
    }
    return not_found(no_variable(std::string(name)));
  }

 private:
  /// The contribution of one of this process's trainers to this step.
  struct Replica {
    Ref<Buffer> updates;
    // `row_sums` and `rows` have one entry for each variable in bind()'s `by_rows`, in that order.
    std::vector<RowSums> row_sums;
    std::vector<SegmentRows> rows;
    // By segment: a pointer into `rows`; null if the step computes the segment's whole gradient, not only some rows of it.
    std::vector<const SegmentRows*> rows_of_segment;
    std::vector<double> scalars;
  };

  std::map<std::string_view, const Segment*> segments_by_name() const {
    std::map<std::string_view, const Segment*> by_name;
    for (const Segment& segment : shard_.spec().segments) by_name.emplace(segment.variable.name, &segment);
    return by_name;
  }

  std::string no_variable(const std::string& name) const {
    std::vector<std::string> names;
    for (const auto& [known, unused] : segments_by_name()) names.emplace_back(known);
    return "no variable " + name + " is trained" + did_you_mean(name, names) + "; there are: " + listed(names);
  }

  Result<void> bind_rows(const std::vector<std::string>& by_rows) {
    const auto by_name = segments_by_name();
    const std::vector<Segment>& segments = shard_.spec().segments;
    summed_.clear();
    for (Replica& replica : replicas_) {
      replica.row_sums.clear();
      replica.rows.assign(by_rows.size(), {});  // Full size now, so that pointers to entries stay valid.
      replica.rows_of_segment.assign(segments.size(), nullptr);
    }
    for (const std::string& name : by_rows) {
      const auto at = by_name.find(name);
      for (Replica& replica : replicas_) {
        SHOAL_TRY(RowSums sums, RowSums::make(at == by_name.end() ? nullptr : &at->second->variable, name));
        replica.row_sums.push_back(std::move(sums));
        replica.rows_of_segment[size_t(at->second - segments.data())] = &replica.rows[replica.row_sums.size() - 1];
      }
      summed_.push_back(at->second);
    }
    return {};
  }

  Result<void> load(RestoreSource& source) {
    SHOAL_TRY_VOID(shard_.initialize(weights_->bytes()));
    const auto bring = [&source](const Segment& segment, ArenaIndex arena, std::span<std::byte> to) -> Result<void> {
      if (!source.holds(segment, arena)) return {};
      return source.read(segment, arena, to.subspan(segment.offset, segment.bytes));
    };
    for (const Segment& segment : shard_.spec().segments) {
      SHOAL_TRY_VOID(bring(segment, 0, weights_->bytes()));
      for (int slot = 0; slot < nn::slot_count(segment.variable.rule); ++slot) {
        SHOAL_TRY_VOID(bring(segment, 1 + slot, shard_.mutable_slot(slot)));
      }
    }
    global_step_ = source.info().global_step;
    uint64_t update_count = 0;  // The highest update count of the saved shards.
    for (const ShardCounters& counters : source.info().shards) update_count = std::max(update_count, counters.update_count);
    shard_.set_counters({0, update_count});
    return {};
  }

  static Error torn() {
    return failed_precondition("a step failed while it changed the weights; they are usable again after a restore");
  }

  /// Returns the first error of an update that wrote a NaN or an infinity; the error names the update's step.
  const std::optional<Error>& look_for_poison() {
    const Segment* const segment = options_.allow_non_finite || poison_ ? nullptr : shard_.poisoned();
    if (segment) {
      env_.sometimes("local.update_not_finite");
      poison_ = poisoned(segment->variable.name, global_step_);
    }
    return poison_;
  }

  Result<void> apply_all(std::span<const double> scalars) {
    contributions_.clear();
    for (size_t i = 0; i <= computed_; ++i) {
      const Replica& replica = replicas_[i];
      const std::span<const double> own = i == computed_ ? scalars : std::span<const double>(replica.scalars);
      contributions_.push_back({replica.updates->bytes(), own, replica.rows_of_segment});
    }
    if (weights_->unique()) return shard_.apply(weights_->bytes(), weights_->bytes(), contributions_);
    Ref<Buffer> next = env_.buffers().get(weights_->size());  // New memory, since a snapshot still reads weights_.
    SHOAL_TRY_VOID(shard_.apply(weights_->bytes(), next->bytes(), contributions_));
    weights_ = std::move(next);
    return {};
  }

  // The functions below are called by the backend while a program runs, to apply updates at once.
  bool by_rows(size_t index) const override { return !nn::needs_whole_variable(update_segments_[index]->variable.rule); }
  void apply(size_t index, int64_t row_begin, int64_t row_end, const std::byte* rows) override {
    const Segment& segment = *update_segments_[index];
    const int64_t row_count = segment.row_end - segment.row_begin;
    const int64_t row_elements = row_count == 0 ? 0 : segment.elements() / row_count;
    shard_.update_part(segment, row_begin * row_elements, (row_end - row_begin) * row_elements, weights_->bytes(),
                       (next_ ? next_ : weights_)->bytes(), reinterpret_cast<const float*>(rows), scalars_);
  }

  Result<void> finish() {
    shard_.finish_update(weights_->bytes(), (next_ ? next_ : weights_)->bytes(), scalars_, replicas_[0].rows_of_segment);
    if (next_) weights_ = std::move(next_);
    applying_ = false;
    return {};
  }

  Environment& env_;
  const LocalStoreOptions options_;
  ShardPlan plan_;
  Shard shard_;
  Ref<Buffer> weights_;
  std::vector<Replica> replicas_;
  size_t computed_ = 0;  // The number of replicas that have finished their part of this step.
  std::vector<Contribution> contributions_;
  Bindings bindings_;
  // The segments (tables) for which a step gives only the gradients of the rows that it used, in bind()'s order.
  std::vector<const Segment*> summed_;
  uint64_t global_step_ = 0;
  uint64_t epoch_ = 0;
  std::set<int> ended_;          // Trainers whose inputs have ended.
  std::optional<Error> poison_;  // Set once an update has written a NaN or an infinity.
  // The members below belong to a step whose updates are applied while its program runs.
  std::vector<const Segment*> update_segments_;  // One entry for each update.
  std::vector<double> scalars_;
  Ref<Buffer> next_;       // The weights after the step; null if the step updates weights_ in place.
  bool applying_ = false;  // True from apply_during_run() until the step has succeeded.
};

}  // namespace

std::unique_ptr<Store> make_local_store(Environment& env, ShardPlan plan, LocalStoreOptions options) {
  SHOAL_CHECK(plan.shards.size() == 1);
  return std::make_unique<LocalStore>(env, std::move(plan), options);
}

}  // namespace shoal::cluster
