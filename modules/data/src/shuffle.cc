// SPDX-License-Identifier: Apache-2.0
// shuffle: keeps elements in a buffer. Each output is drawn uniformly from the buffer, and the next input takes its place.
//
// Draw number s of a pass is a pure function of (key, s). So the number of draws determines which elements are in the
// buffer, and the elements are never saved. A saved position consists of that number and of the anchor, a position of the
// input at or before the oldest element in the buffer. The anchor moves forward during a pass, so a resume never reads an
// endless input again from its start.
#include <algorithm>
#include <array>

#include "nodes.h"

namespace shoal::data {
namespace {

constexpr uint64_t kBufferMax = UINT32_MAX;
constexpr uint64_t kHole = ~uint64_t(0);
/// An anchor is a saved position of the input (see above). At least this many inputs lie between two anchors: otherwise the
/// stage would save the position of its input at every draw from a small buffer.
constexpr uint64_t kAnchorDistance = 256;

/// The random draws of one pass.
class Draws {
 public:
  explicit Draws(RandomKey key) : key_(key) {}

  /// Returns draw number `number`, uniform in [0, bound), unbiased (Lemire 2019). `bound` is in [1, kBufferMax].
  size_t at(uint64_t number, uint64_t bound) {
    uint64_t product = uint64_t(word(number)) * bound;
    if (uint32_t(product) < bound) [[unlikely]] {
      const uint64_t threshold = (uint64_t(1) << 32) % bound;
      for (uint64_t round = 1; uint32_t(product) < threshold; ++round) {
        product = uint64_t(philox(key_, number, round)[0]) * bound;
      }
    }
    return size_t(product >> 32);
  }

 private:
  uint32_t word(uint64_t number) {
    if (number / 4 != block_number_) {
      block_number_ = number / 4;
      block_ = philox(key_, block_number_);
    }
    return block_[number % 4];
  }

  RandomKey key_;
  uint64_t block_number_ = ~uint64_t(0);
  std::array<uint32_t, 4> block_{};
};

/// The counters of a pass. The contents of the buffer follow from them and from the random key.
struct Progress {
  uint64_t inputs = 0;  ///< How many elements were taken from the input.
  uint64_t draws = 0;   ///< Elements handed out.
  bool ended = false;   ///< True once the input's end was seen.
};

/// Returns whether a pass can have these counters. Until the input ends, a new input has filled the slot of each draw
/// except the last: the slot of the last draw stays empty until the next call of next().
bool is_possible(const Progress& at, uint64_t capacity) {
  if (at.draws == 0) return at.inputs == 0;
  if (!at.ended) return at.inputs >= capacity && at.inputs - capacity == at.draws - 1;
  const uint64_t replaced = at.inputs - std::min(capacity, at.inputs);
  return at.draws <= at.inputs && at.draws > replaced;
}

/// Returns for each slot of the buffer the number of the input that it holds, or kHole if the slot is empty, as is the
/// slot of the last draw.
std::vector<uint64_t> buffered_inputs(RandomKey key, const Progress& at, uint64_t capacity) {
  if (at.draws == 0) return {};
  Draws draws(key);
  const uint64_t filled = std::min(capacity, at.inputs);
  const uint64_t replaced = at.inputs - filled;  // How many of the drawn slots a new input has filled.
  std::vector<uint64_t> slots(size_t(filled), kHole);
  // Input number filled + d was put into the slot that draw number d chose. So the newest draw that chose a slot tells
  // which input the slot holds. Visits the draws from the newest to the oldest; after about filled * ln(filled) of them,
  // every slot has been chosen.
  uint64_t unknown = filled;
  for (uint64_t draw = replaced; draw-- > 0 && unknown > 0;) {
    uint64_t& slot = slots[draws.at(draw, filled)];
    if (slot != kHole) continue;
    slot = filled + draw;
    --unknown;
  }
  for (size_t i = 0; i < slots.size(); ++i) {
    if (slots[i] == kHole) slots[i] = i;
  }
  for (uint64_t draw = replaced; draw < at.draws; ++draw) {
    const size_t drawn = draws.at(draw, slots.size());
    if (draw + 1 == at.draws) {
      slots[drawn] = kHole;
    } else {
      slots[drawn] = slots.back();
      slots.pop_back();
    }
  }
  return slots;
}

class ShuffleStage final : public Stage {
 public:
  ShuffleStage(StageContext& context, std::unique_ptr<Stage> input, uint64_t capacity, bool reshuffle, RandomKey key)
      : context_(context),
        input_(std::move(input)),
        capacity_(capacity),
        reshuffle_(reshuffle),
        key_(key),
        draws_(pass_key()) {}

  Result<bool> next(Item& item) override {
    if (!begun_) begin();
    SHOAL_TRY_VOID(fill());
    if (buffer_.empty()) return false;
    const size_t drawn = draws_.at(at_.draws++, buffer_.size());
    std::swap(item, buffer_[drawn].item);
    hole_ = drawn;
    if (buffer_[drawn].input < next_anchor_.input) --older_;
    return true;
  }

  Result<void> restart(uint64_t pass) override {
    SHOAL_TRY_VOID(input_->restart(pass));
    pass_ = pass;
    reset({});
    return {};
  }

  Result<void> save(StateWriter& out) const override {
    out.number(key_);
    out.number(pass_);
    out.number(at_.inputs);
    out.number(at_.draws);
    out.flag(at_.ended);
    out.number(anchor_.input);
    if (!begun_) return input_->save(out);
    if (anchor_error_) return *anchor_error_;
    out.raw(anchor_.state);
    return {};
  }

  Result<void> load(StateReader& in) override {
    SHOAL_TRY(key_, in.number());
    SHOAL_TRY(pass_, in.number());
    Progress at;
    SHOAL_TRY(at.inputs, in.count());
    SHOAL_TRY(at.draws, in.count());
    SHOAL_TRY(at.ended, in.flag());
    SHOAL_TRY(const uint64_t anchor_input, in.count());
    SHOAL_TRY_VOID(input_->load(in));
    reset(at);
    begin();
    anchor_.input = next_anchor_.input = anchor_input;
    if (!is_possible(at, capacity_) || anchor_input > at.inputs) return damaged_position();
    return refill();
  }

 private:
  struct Slot {
    Item item;
    uint64_t input = kHole;  ///< The element's number among the inputs of this pass.
  };
  struct Anchor {
    uint64_t input = 0;  ///< How many inputs had been taken when `state` was saved.
    std::string state;
  };

  RandomKey pass_key() const { return fold_in(key_, reshuffle_ ? pass_ : 0); }

  void reset(Progress at) {
    at_ = at;
    draws_ = Draws(pass_key());
    buffer_.clear();
    hole_.reset();
    begun_ = false;
    older_ = 0;
    anchor_.input = next_anchor_.input = 0;
    anchor_error_.reset();
  }

  /// Called at the beginning of a pass, before anything is taken from the input.
  void begin() {
    begun_ = true;
    remember(anchor_);
    next_anchor_.input = 0;
  }

  void remember(Anchor& anchor) {
    anchor.input = at_.inputs;
    anchor.state.clear();
    StateWriter writer(anchor.state);
    if (Result<void> saved = input_->save(writer); !saved) anchor_error_ = std::move(saved).error();
  }

  Result<void> fill() {
    if (hole_) {
      const size_t hole = *std::exchange(hole_, std::nullopt);
      SHOAL_TRY(const bool more, take(buffer_[hole]));
      if (!more) {
        if (hole + 1 != buffer_.size()) std::swap(buffer_[hole], buffer_.back());
        buffer_.pop_back();
      }
    }
    while (!at_.ended && buffer_.size() < capacity_) {
      SHOAL_TRY_VOID(check_stopping(context_));
      buffer_.emplace_back();
      SHOAL_TRY(const bool more, take(buffer_.back()));
      if (!more) buffer_.pop_back();
    }
    if (older_ == 0 && !at_.ended && !anchor_error_ && at_.inputs - anchor_.input >= kAnchorDistance) move_anchor();
    return {};
  }

  Result<bool> take(Slot& slot) {
    if (at_.ended) return false;
    SHOAL_TRY(const bool more, input_->next(slot.item));
    if (!more) {
      at_.ended = true;
      return false;
    }
    slot.input = at_.inputs++;
    return true;
  }

  /// Replaces the anchor by next_anchor_ if next_anchor_ is the later position of the input, and saves the input's present
  /// position as next_anchor_. Call this only if all elements in the buffer were read after next_anchor_ was saved, because
  /// a resume reads the buffer's elements from the anchor on.
  void move_anchor() {
    if (next_anchor_.input > anchor_.input) std::swap(anchor_, next_anchor_);
    remember(next_anchor_);
    older_ = buffer_.size();
  }

  /// Fills the buffer again after a resume: reads the input from the anchor on, keeps the elements that were in the buffer
  /// when the position was saved, and skips the others.
  Result<void> refill() {
    const std::vector<uint64_t> slots = buffered_inputs(pass_key(), at_, capacity_);
    std::vector<size_t> order;
    for (size_t i = 0; i < slots.size(); ++i) {
      if (slots[i] != kHole)
        order.push_back(i);
      else
        hole_ = i;
    }
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return slots[a] < slots[b]; });
    if (!order.empty() && slots[order.front()] < anchor_.input) return damaged_position();
    buffer_.resize(slots.size());
    uint64_t input = anchor_.input;
    for (const size_t slot : order) {
      SHOAL_TRY_VOID(check_stopping(context_));
      SHOAL_TRY_VOID(pass_over(slots[slot] - input));
      SHOAL_TRY(const bool more, input_->next(buffer_[slot].item));
      if (!more) return damaged_position();
      buffer_[slot].input = slots[slot];
      input = slots[slot] + 1;
    }
    SHOAL_TRY_VOID(pass_over(at_.inputs - input));
    return at_.ended ? see_end() : Result<void>();
  }

  /// Called by a resume if the run had already reached the input's end: reads past the last element again, because a
  /// cache() before this stage becomes complete only then.
  Result<void> see_end() {
    Item none;
    SHOAL_TRY(const bool more, input_->next(none));
    return more ? damaged_position() : Result<void>();
  }

  Result<void> pass_over(uint64_t count) {
    if (count == 0) return {};
    SHOAL_TRY(const int64_t skipped, input_->skip(int64_t(count)));
    if (uint64_t(skipped) != count) return damaged_position();
    return {};
  }

  StageContext& context_;
  std::unique_ptr<Stage> input_;
  const uint64_t capacity_;
  const bool reshuffle_;
  RandomKey key_;
  uint64_t pass_ = 0;

  // The members below belong to the current pass.
  bool begun_ = false;
  Progress at_;
  Draws draws_;
  std::vector<Slot> buffer_;
  std::optional<size_t> hole_;
  Anchor anchor_;  ///< A saved position of the input, from which a resume reads. All of buffer_ was read after it.
  /// A position of the input that was saved after anchor_, and replaces anchor_ once older_ is 0. older_ is the number of
  /// elements in the buffer that were read before this position was saved.
  Anchor next_anchor_;
  size_t older_ = 0;
  std::optional<Error> anchor_error_;
};

class ShuffleNode final : public Node {
 public:
  ShuffleNode(NodePtr input, uint64_t buffer, ShuffleOptions options)
      : Node({std::move(input)}), buffer_(std::min(buffer, kBufferMax)), options_(options) {}

  Result<std::unique_ptr<Stage>> make_stage(StageContext& context) const override {
    SHOAL_TRY(std::unique_ptr<Stage> stage, input().stage(context));
    // A buffer larger than the input would change nothing, so the capacity is at most the size of the input. Because of
    // this limit, a damaged position cannot make the stage allocate more memory than the input needs.
    const uint64_t capacity = std::min(buffer_, uint64_t(std::max<int64_t>(input().cardinality().value_or(INT64_MAX), 1)));
    return std::make_unique<ShuffleStage>(context, std::move(stage), capacity, options_.reshuffle_each_iteration,
                                          context.next_random_key(options_.seed));
  }
  std::string_view kind() const override { return "shuffle"; }
  bool passes_elements_on() const override { return true; }
  RandomKey fold_parameters(RandomKey key) const override {
    key = fold_in(fold_in(fold_in(key, "shuffle"), buffer_), options_.reshuffle_each_iteration);
    return options_.seed ? fold_in(key, uint64_t(*options_.seed)) : key;
  }
  bool is_shuffle() const override { return true; }
  bool draws_without_seed() const override { return !options_.seed; }
  std::string_view moves_elements() const override {
    if (!options_.seed) return "shuffle without a seed has another order in each iteration";
    if (options_.reshuffle_each_iteration) return "shuffle has another order in each pass";
    return {};
  }

 private:
  uint64_t buffer_;
  ShuffleOptions options_;
};

}  // namespace

NodePtr make_shuffle_node(NodePtr input, int64_t buffer, ShuffleOptions options) {
  return std::make_shared<ShuffleNode>(std::move(input), uint64_t(buffer), options);
}

}  // namespace shoal::data
