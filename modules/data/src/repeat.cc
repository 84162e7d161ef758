// SPDX-License-Identifier: Apache-2.0
// repeat: passes over the input, one after another. The numbers of the input's passes follow from the number of the pass of
// the repeat stage itself, not from how many passes were read before: a stage that reads ahead may have begun more of them
// than anybody took.
#include "nodes.h"

namespace shoal::data {
namespace {

class RepeatStage final : public Stage {
 public:
  RepeatStage(const StageContext& context, std::unique_ptr<Stage> input, int64_t passes)
      : context_(context), input_(std::move(input)), passes_(passes) {}

  Result<bool> next(Item& item) override {
    while (!ended_) {
      if (passes_ == 0) break;
      SHOAL_TRY(const bool more, input_->next(item));
      if (more) {
        empty_ = false;
        return true;
      }
      SHOAL_TRY_VOID(next_pass());
    }
    return false;
  }

  Result<int64_t> skip(int64_t count) override {
    int64_t skipped = 0;
    while (skipped < count && !ended_ && passes_ != 0) {
      SHOAL_TRY_VOID(check_stopping(context_));
      SHOAL_TRY(const int64_t some, input_->skip(count - skipped));
      skipped += some;
      if (some > 0) empty_ = false;
      if (skipped < count) SHOAL_TRY_VOID(next_pass());
    }
    return skipped;
  }

  Result<void> restart(uint64_t pass) override {
    outer_pass_ = pass;
    pass_ = 0;
    empty_ = true;
    ended_ = false;
    return input_->restart(number_of_pass());
  }
  Result<void> save(StateWriter& out) const override {
    out.number(uint64_t(pass_));
    out.flag(empty_);
    out.number(uint64_t((ended_ ? kEnded : 0) | (outer_pass_ > 0 ? kHasOuterPass : 0)));
    if (outer_pass_ > 0) out.number(outer_pass_);
    return input_->save(out);
  }
  Result<void> load(StateReader& in) override {
    SHOAL_TRY(pass_, in.count());
    SHOAL_TRY(empty_, in.flag());
    SHOAL_TRY(const int64_t bits, in.count(kEnded + kHasOuterPass));
    ended_ = bits & kEnded;
    outer_pass_ = 0;
    if (bits & kHasOuterPass) {
      SHOAL_TRY(outer_pass_, in.number());
    }
    return input_->load(in);
  }

 private:
  /// Begins the next pass. A pass without elements is the last: an endless repeat of nothing would never return.
  Result<void> next_pass() {
    if (empty_ || (passes_ > 0 && pass_ + 1 >= passes_)) {
      ended_ = true;
      return {};
    }
    ++pass_;
    empty_ = true;
    return input_->restart(number_of_pass());
  }

  /// Counts all passes of the input, where the stage's own passes are all whole. Where a repeat is endless, its passes have
  /// the room of 2^32.
  uint64_t number_of_pass() const {
    const auto room = passes_ < 0 ? uint64_t(1) << 32 : uint64_t(passes_);
    return outer_pass_ * room + uint64_t(pass_);
  }

  /// Bits of a saved number. Positions that older versions saved have no outer pass.
  static constexpr int64_t kEnded = 1, kHasOuterPass = 2;

  const StageContext& context_;
  std::unique_ptr<Stage> input_;
  const int64_t passes_;     ///< -1: for ever.
  uint64_t outer_pass_ = 0;  ///< The number of the stage's own pass.
  int64_t pass_ = 0;         ///< The number of the input's pass within it.
  bool empty_ = true;        ///< True while this pass has given no element.
  bool ended_ = false;
};

class RepeatNode final : public Node {
 public:
  RepeatNode(NodePtr input, int64_t passes) : Node({std::move(input)}), passes_(passes) {}
  Result<std::unique_ptr<Stage>> make_stage(StageContext& context) const override {
    SHOAL_TRY(std::unique_ptr<Stage> stage, input().stage(context));
    return std::make_unique<RepeatStage>(context, std::move(stage), passes_);
  }
  std::string_view kind() const override { return "repeat"; }
  bool passes_elements_on() const override { return true; }
  RandomKey fold_parameters(RandomKey key) const override { return fold_in(fold_in(key, "repeat"), uint64_t(passes_)); }
  std::optional<bool> is_finite() const override {
    if (passes_ == 0 || input().cardinality() == 0) return true;
    if (passes_ > 0) return input().is_finite();
    // An endless repeat ends only if its input is empty. The input is surely not empty if it never ends, or if its number
    // of elements is known (0 was handled above).
    if (input().is_finite() == false || input().cardinality()) return false;
    return std::nullopt;
  }
  std::string_view moves_elements() const override {
    if (passes_ == 0 || passes_ == 1) return {};
    return "repeat gives each element at several positions";
  }
  bool repeats_for_ever() const override {
    if (input().cardinality() == 0) return false;
    return passes_ < 0 || (passes_ > 0 && input().repeats_for_ever());
  }
  std::optional<int64_t> cardinality() const override {
    const std::optional<int64_t> count = input().cardinality();
    int64_t product = 0;
    if (passes_ == 0 || count == 0) return 0;
    if (!count || passes_ < 0 || __builtin_mul_overflow(*count, passes_, &product)) return std::nullopt;
    return product;
  }

 private:
  int64_t passes_;
};

}  // namespace

NodePtr make_repeat_node(NodePtr input, int64_t count) { return std::make_shared<RepeatNode>(std::move(input), count); }

}  // namespace shoal::data
