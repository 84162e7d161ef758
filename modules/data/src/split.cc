// SPDX-License-Identifier: Apache-2.0
// Dataset::split: makes two datasets of the elements of one, by their positions.
#include <bit>

#include "nodes.h"
#include "one_input_stage.h"
#include "positions.h"

namespace shoal::data {
namespace {

// The most elements to pass over before the stop token is checked again.
constexpr int64_t kAtOnceMax = 4096;
// Up to this number, Dataset::cardinality() counts the elements one by one, which takes milliseconds.
constexpr int64_t kCountedMax = int64_t(1) << 22;

/// Decides, by the position of an element alone, whether split() puts it into the training part or the held-out part.
struct SplitRule {
  double held_out = 0;
  RandomKey key = 0;
  bool wants_held_out = false;

  bool takes(uint64_t position) const {
    const uint64_t drawn = fold_in(key, position);
    return (double(drawn >> 11) * 0x1p-53 < held_out) == wants_held_out;
  }
};

/// Passes on the elements of one part of a split. index_ (of OneInputStage) counts the elements of the input. Elements of
/// the other part are skipped, so the functions of earlier stages are not called for them.
class SplitStage final : public OneInputStage {
 public:
  SplitStage(StageContext& context, std::unique_ptr<Stage> input, const SplitRule& rule)
      : OneInputStage(std::move(input)), context_(context), rule_(rule) {}

  Result<bool> next(Item& item) override {
    SHOAL_TRY(const bool there, pass_others());
    if (!there) return false;
    SHOAL_TRY(const bool more, input_->next(item));
    index_ += more;
    return more;
  }

  Result<int64_t> skip(int64_t count) override {
    for (int64_t passed = 0; passed < count; ++passed) {
      SHOAL_TRY_VOID(check_stopping(context_));
      SHOAL_TRY(const bool there, pass_others());
      SHOAL_TRY(const int64_t one, there ? input_->skip(1) : Result<int64_t>(0));
      if (one == 0) return passed;
      ++index_;
    }
    return count;
  }

 private:
  /// Skips the elements that belong to the other part, up to the next one of this part. False: the input has ended.
  Result<bool> pass_others() {
    while (!rule_.takes(uint64_t(index_))) {
      SHOAL_TRY_VOID(check_stopping(context_));
      int64_t others = 1;
      while (others < kAtOnceMax && !rule_.takes(uint64_t(index_) + uint64_t(others))) ++others;
      SHOAL_TRY(const int64_t passed, input_->skip(others));
      index_ += passed;
      if (passed < others) return false;
    }
    return true;
  }

  StageContext& context_;
  const SplitRule rule_;
};

class SplitNode final : public Node {
 public:
  SplitNode(NodePtr input, SplitRule rule) : Node({std::move(input)}), rule_(rule) {}
  Result<std::unique_ptr<Stage>> make_stage(StageContext& context) const override {
    SHOAL_TRY(std::unique_ptr<Stage> stage, make_stage_for(PositionNeed::kFixed, input(), context));
    return std::make_unique<SplitStage>(context, std::move(stage), rule_);
  }
  std::string_view kind() const override { return "split"; }
  bool passes_elements_on() const override { return true; }
  RandomKey fold_parameters(RandomKey key) const override {
    key = fold_in(fold_in(fold_in(key, "split"), std::bit_cast<uint64_t>(rule_.held_out)), rule_.key);
    return fold_in(key, uint64_t(rule_.wants_held_out));
  }
  std::optional<int64_t> cardinality() const override {
    const std::optional<int64_t> count = input().cardinality();
    if (!count || *count > kCountedMax) return std::nullopt;
    int64_t taken = 0;
    for (int64_t position = 0; position < *count; ++position) taken += rule_.takes(uint64_t(position));
    return taken;
  }

 private:
  const SplitRule rule_;
};

}  // namespace

NodePtr make_split_node(NodePtr input, double held_out, uint64_t seed, bool wants_held_out) {
  return std::make_shared<SplitNode>(std::move(input), SplitRule{held_out, fold_in(seed, "split"), wants_held_out});
}

}  // namespace shoal::data
