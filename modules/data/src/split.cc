// Dataset::split: two datasets of the elements of one, by their positions.
#include <bit>

#include "nodes.h"

namespace shoal::data {
namespace {

// How many elements are passed over at once: in between it is looked whether the iterator is going away.
constexpr int64_t kAtOnceMax = 4096;
// Dataset::cardinality() counts one by one here, which is to take milliseconds.
constexpr int64_t kCountedMax = int64_t(1) << 22;

/// The side that an element is on is a function of its position alone.
struct SplitRule {
  double held_out = 0;
  uint64_t seed = 0;
  bool wants_held_out = false;

  bool takes(int64_t position) const {
    const uint64_t drawn = fold_in(fold_in(seed, "split"), uint64_t(position));
    return (double(drawn >> 11) * 0x1p-53 < held_out) == wants_held_out;
  }
};

/// Counts elements of its input. What is not taken is passed over, so functions before it are not called for it.
class SplitStage final : public Stage {
 public:
  SplitStage(StageContext& context, std::unique_ptr<Stage> input, const SplitRule& rule)
      : context_(context), input_(std::move(input)), rule_(rule) {}

  Result<bool> next(Item& item) override {
    SHOAL_TRY(const bool there, pass_others());
    if (!there) return false;
    SHOAL_TRY(const bool more, input_->next(item));
    position_ += more;
    return more;
  }

  Result<int64_t> skip(int64_t count) override {
    for (int64_t passed = 0; passed < count; ++passed) {
      SHOAL_TRY(const bool there, pass_others());
      SHOAL_TRY(const int64_t one, there ? input_->skip(1) : Result<int64_t>(0));
      if (one == 0) return passed;
      ++position_;
    }
    return count;
  }

  Result<void> restart() override {
    position_ = 0;
    return input_->restart();
  }
  Result<void> save(StateWriter& out) const override {
    out.number(uint64_t(position_));
    return input_->save(out);
  }
  Result<void> load(StateReader& in) override {
    SHOAL_TRY(position_, in.count());
    return input_->load(in);
  }

 private:
  /// Up to the next element to take. False: the input has ended.
  Result<bool> pass_others() {
    while (!rule_.takes(position_)) {
      SHOAL_TRY_VOID(check_stopping(context_));
      int64_t others = 1;
      while (others < kAtOnceMax && !rule_.takes(position_ + others)) ++others;
      SHOAL_TRY(const int64_t passed, input_->skip(others));
      position_ += passed;
      if (passed < others) return false;
    }
    return true;
  }

  StageContext& context_;
  std::unique_ptr<Stage> input_;
  const SplitRule rule_;
  int64_t position_ = 0;
};

class SplitNode final : public Node {
 public:
  SplitNode(NodePtr input, SplitRule rule) : Node({std::move(input)}), rule_(rule) {}
  Result<std::unique_ptr<Stage>> make_stage(StageContext& context) const override {
    SHOAL_TRY(std::unique_ptr<Stage> stage, input().make_stage(context));
    return std::make_unique<SplitStage>(context, std::move(stage), rule_);
  }
  RandomKey fold_parameters(RandomKey key) const override {
    key = fold_in(fold_in(fold_in(key, "split"), std::bit_cast<uint64_t>(rule_.held_out)), rule_.seed);
    return fold_in(key, uint64_t(rule_.wants_held_out));
  }
  std::optional<int64_t> cardinality() const override {
    const std::optional<int64_t> count = input().cardinality();
    if (!count || *count > kCountedMax) return std::nullopt;
    int64_t taken = 0;
    for (int64_t position = 0; position < *count; ++position) taken += rule_.takes(position);
    return taken;
  }

 private:
  const SplitRule rule_;
};

}  // namespace

NodePtr make_split_node(NodePtr input, double held_out, uint64_t seed, bool wants_held_out) {
  return std::make_shared<SplitNode>(std::move(input), SplitRule{held_out, seed, wants_held_out});
}

}  // namespace shoal::data
