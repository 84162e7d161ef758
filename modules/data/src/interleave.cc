// SPDX-License-Identifier: Apache-2.0
// flat_map and interleave make a dataset of each element of the input. Several of these datasets are open at once, and give
// their elements in turn. A position holds: the input's position before the oldest element whose dataset is open; the
// number of elements that were taken since; and for each open dataset, the number of its element and the position within
// the dataset. After a resume the datasets are made again from their elements.
#include <algorithm>

#include "background_stage.h"
#include "nodes.h"
#include "positions.h"

namespace shoal::data {
namespace {

class InterleaveStage final : public Stage {
 public:
  InterleaveStage(StageContext& context, std::unique_ptr<Stage> input, const NodeFn& fn, const InterleaveOptions& options,
                  std::string_view name, RandomKey key)
      : context_(context),
        must_end_(context.must_end),
        input_(std::move(input)),
        fn_(fn),
        options_(options),
        name_(name),
        key_(key),
        position_need_(context.position_need),
        slots_(size_t(options.cycle)) {}

  Result<bool> next(Item& item) override {
    if (options_.parallel && !begun_) open_all();
    begun_ = true;
    while (!input_is_over() || std::ranges::any_of(slots_, &std::optional<Open>::has_value)) {
      SHOAL_TRY_VOID(check_stopping(context_));
      if (!options_.deterministic && given_ == 0) turn_to_a_ready_one();
      std::optional<Open>& slot = slots_[turn_];
      if (!slot) {
        SHOAL_TRY(slot, open_next());
      }
      if (!slot) {
        go_on();
        continue;
      }
      SHOAL_TRY(const bool more, slot->stage->next(item));
      if (!more) {
        slot.reset();
        go_on();
        continue;
      }
      if (item.row_of_tensors() >= 0)
        item.materialise(context_.env.buffers());  // Copies the row: the item may outlive the dataset's tensors.
      if (++given_ == options_.block) go_on();
      return true;
    }
    return false;
  }

  Result<void> restart(uint64_t pass) override {
    clear();
    pass_ = pass;
    return input_->restart(pass);
  }

  Result<void> save(StateWriter& out) const override {
    if (unsaved_) return *unsaved_;
    const Open* oldest = nullptr;
    for (const std::optional<Open>& slot : slots_) {
      if (slot && (!oldest || slot->number < oldest->number)) oldest = &*slot;
    }
    out.number(key_);
    out.number(pass_);
    out.flag(begun_);
    out.number(turn_);
    out.number(uint64_t(given_));
    const int64_t first = oldest ? oldest->number : taken();
    out.number(uint64_t(first));
    out.number(uint64_t(taken() - first));
    for (const std::optional<Open>& slot : slots_) out.number(slot ? uint64_t(slot->number - first + 1) : 0);
    if (oldest) {
      out.raw(oldest->before);
    } else if (ahead_) {
      out.raw(ahead_->before);
    } else {
      SHOAL_TRY_VOID(input_->save(out));
    }
    for (const std::optional<Open>& slot : slots_) {
      if (!slot) continue;
      out.number(slot->fingerprint);
      SHOAL_TRY_VOID(slot->stage->save(out));
    }
    return {};
  }

  Result<void> load(StateReader& in) override {
    clear();
    SHOAL_TRY(key_, in.number());
    SHOAL_TRY(pass_, in.number());
    SHOAL_TRY(const bool begun, in.flag());
    SHOAL_TRY(const int64_t turn, in.count(int64_t(slots_.size()) - 1));
    SHOAL_TRY(given_, in.count(options_.block - 1));
    SHOAL_TRY(const int64_t first, in.count());
    SHOAL_TRY(const int64_t since, in.count());
    turn_ = size_t(turn);
    next_number_ = first;
    std::vector<std::pair<int64_t, size_t>> open;  // For each open dataset: number of its element minus `first`; slot.
    for (size_t i = 0; i < slots_.size(); ++i) {
      SHOAL_TRY(const int64_t one_more, in.count(since));
      if (one_more > 0) open.emplace_back(one_more - 1, i);
    }
    SHOAL_TRY_VOID(input_->load(in));
    std::ranges::sort(open);
    for (const auto& [offset, slot] : open) {
      SHOAL_TRY_VOID(pass_over(first + offset - next_number_));
      SHOAL_TRY(slots_[slot], make_next());
      if (!slots_[slot]) return damaged_position();
    }
    SHOAL_TRY_VOID(pass_over(first + since - next_number_));
    for (std::optional<Open>& slot : slots_) {
      if (!slot) continue;
      SHOAL_TRY(const uint64_t fingerprint, in.number());
      if (fingerprint != slot->fingerprint) return damaged_position();
      SHOAL_TRY_VOID(slot->stage->load(in));
      start(*slot);
    }
    begun_ = begun;
    return {};
  }

 private:
  /// A dataset that is being read. Some members refer to members that are declared before them, so the order matters:
  /// later members are destroyed first.
  struct Open {
    int64_t number;      ///< The dataset was made of the input's element with this number.
    std::string before;  ///< The position of the input before it returned element `number`.
    NodePtr node;
    uint64_t fingerprint;
    std::unique_ptr<StageContext> context;
    std::unique_ptr<Stage> stage;
    BackgroundStage* background = nullptr;  ///< Points to `stage` if that stage works in the background, else null.
  };

  int64_t taken() const { return next_number_ - (ahead_ ? 1 : 0); }

  bool input_is_over() const { return ended_ && !ahead_ && !ahead_error_; }

  void go_on() {
    turn_ = (turn_ + 1) % slots_.size();
    given_ = 0;
  }

  void turn_to_a_ready_one() {
    for (size_t i = 0; i < slots_.size(); ++i) {
      const std::optional<Open>& slot = slots_[(turn_ + i) % slots_.size()];
      if (slot ? slot->background && !slot->background->is_ready() : input_is_over()) continue;
      turn_ = (turn_ + i) % slots_.size();
      return;
    }
  }

  /// Opens a dataset in each slot, so that all of them begin to prepare elements in the background at once.
  void open_all() {
    for (std::optional<Open>& slot : slots_) {
      if (slot || ahead_error_) continue;
      Result<std::optional<Open>> open = open_next();
      if (open) {
        slot = std::move(*open);
      } else {
        // next() returns this error when it needs the next dataset.
        ahead_error_ = std::move(open).error();
      }
    }
  }

  /// Opens the dataset of the next element; returns none at the end of the input. If options_.parallel, also opens and
  /// starts the dataset of the element behind that one, and keeps it in ahead_ for the next call.
  Result<std::optional<Open>> open_next() {
    std::optional<Open> open = std::exchange(ahead_, std::nullopt);
    if (!open) {
      if (ahead_error_) return *ahead_error_;
      SHOAL_TRY(open, make_next());
    }
    if (!open) return open;
    start(*open);
    if (!options_.parallel || ahead_error_) return open;
    Result<std::optional<Open>> following = make_next();
    if (!following) {
      ahead_error_ = std::move(following).error();
    } else if (*following) {
      ahead_ = std::move(*following);
      start(*ahead_);
    }
    return open;
  }

  static void start(Open& open) {
    if (open.background) open.background->start();
  }

  Result<std::optional<Open>> make_next() {
    if (ended_) return std::optional<Open>();
    Open open{.number = next_number_, .before = {}, .node = {}, .fingerprint = 0, .context = {}, .stage = {}};
    StateWriter writer(open.before);
    if (!unsaved_) {
      if (Result<void> saved = input_->save(writer); !saved) unsaved_ = std::move(saved).error();
    }
    Item item;
    SHOAL_TRY(const bool more, input_->next(item));
    if (!more) {
      ended_ = true;
      return std::optional<Open>();
    }
    ++next_number_;
    const RecordId record = item.record();
    const int64_t row = item.row_of_tensors();
    const Element& element = item.readable(context_.env.buffers());
    const ElementNumber number{open.number, false};
    const auto where = [&] { return place_of_element(context_, record, row, name_, number); };
    const auto call = [&] { return fn_(element); };
    SHOAL_TRY(open.node, call_user_function("the function of " + std::string(name_), call, where));
    if (must_end_ && open.node->repeats_for_ever()) {
      return in_user_function(invalid_argument("it repeats for ever, and cache() behind " + std::string(name_) +
                                               " waits for its end; put repeat() behind cache()"),
                              "the dataset of " + std::string(name_), where());
    }
    SHOAL_TRY_VOID(check_positions(position_need_, *open.node, name_, context_.env.log()));
    open.fingerprint = fingerprint_of(*open.node);
    const RandomKey key = fold_in(fold_in(key_, pass_), uint64_t(open.number));
    open.context = std::make_unique<StageContext>(context_, key);
    open.context->position_need = position_need_;
    open.context->must_end = must_end_;
    Result<std::unique_ptr<Stage>> stage = open.node->stage(*open.context);
    if (!stage) return in_user_function(std::move(stage).error(), "the dataset of " + std::string(name_), where());
    if (options_.parallel) {
      auto background = make_background_stage(*open.context, std::move(*stage), options_.block);
      open.background = background.get();
      open.stage = std::move(background);
    } else {
      open.stage = std::move(*stage);
    }
    return std::optional<Open>(std::move(open));
  }

  Result<void> pass_over(int64_t count) {
    if (count == 0) return {};
    SHOAL_TRY(const int64_t skipped, input_->skip(count));
    next_number_ += skipped;
    return skipped == count ? Result<void>() : damaged_position();
  }

  void clear() {
    for (std::optional<Open>& slot : slots_) slot.reset();
    ahead_.reset();
    ahead_error_.reset();
    begun_ = ended_ = false;
    turn_ = 0;
    given_ = next_number_ = 0;
    unsaved_.reset();
  }

  StageContext& context_;
  const bool must_end_;  // StageContext::must_end when this stage was made.
  std::unique_ptr<Stage> input_;
  const NodeFn& fn_;
  const InterleaveOptions& options_;
  const std::string_view name_;
  RandomKey key_;
  const PositionNeed position_need_;
  uint64_t pass_ = 0;

  bool begun_ = false;
  bool ended_ = false;       // The input has no more elements.
  int64_t next_number_ = 0;  // The number of the input's next element.
  size_t turn_ = 0;          // The slot whose turn it is.
  int64_t given_ = 0;        // How many elements slot turn_ has given in its present turn.
  std::vector<std::optional<Open>> slots_;
  // If options_.parallel: the next dataset, opened before a slot is free for it. A saved position does not contain it.
  std::optional<Open> ahead_;
  std::optional<Error> ahead_error_;  // The error of opening the next dataset; returned when that dataset is needed.
  std::optional<Error> unsaved_;
};

class InterleaveNode final : public Node {
 public:
  InterleaveNode(NodePtr input, NodeFn fn, InterleaveOptions options, std::string_view name)
      : Node({std::move(input)}), fn_(std::move(fn)), options_(options), name_(name) {}
  Result<std::unique_ptr<Stage>> make_stage(StageContext& context) const override {
    SHOAL_TRY(std::unique_ptr<Stage> stage, input().stage(context));
    const RandomKey key = context.next_random_key({});
    return std::make_unique<InterleaveStage>(context, std::move(stage), fn_, options_, name_, key);
  }
  std::string_view kind() const override { return "interleave"; }
  bool calls_function() const override { return true; }
  /// Leaves out options_.parallel, since this option changes neither elements nor positions if the order is deterministic.
  RandomKey fold_parameters(RandomKey key) const override {
    key = fold_in(key, options_.deterministic ? "interleave" : "interleave/any order");
    return fold_in(fold_in(key, uint64_t(options_.cycle)), uint64_t(options_.block));
  }
  bool chooses_by_value() const override { return true; }
  bool is_in_any_order() const override { return !options_.deterministic; }
  std::string_view moves_elements() const override {
    if (options_.deterministic) return {};
    return "interleave that is not deterministic has another order in each iteration";
  }
  std::optional<bool> is_finite() const override {
    return input().is_finite() == false ? std::optional<bool>(false) : std::nullopt;
  }
  std::optional<int64_t> cardinality() const override {
    return input().cardinality() == 0 ? std::optional<int64_t>(0) : std::nullopt;
  }

 private:
  const NodeFn fn_;
  const InterleaveOptions options_;
  const std::string_view name_;
};

}  // namespace

NodePtr make_interleave_node(NodePtr input, NodeFn fn, InterleaveOptions options, std::string_view name) {
  return std::make_shared<InterleaveNode>(std::move(input), std::move(fn), options, name);
}

}  // namespace shoal::data
