// SPDX-License-Identifier: Apache-2.0
// sample_from: takes each element from one of several inputs, drawn by weights.
#include <bit>

#include "nodes.h"

namespace shoal::data {
namespace {

class SampleStage final : public Stage {
 public:
  SampleStage(const StageContext& context, std::vector<std::unique_ptr<Stage>> inputs, const SampleOptions& options,
              RandomKey key)
      : context_(context), inputs_(std::move(inputs)), options_(options), key_(key), ended_(inputs_.size(), false) {}

  Result<bool> next(Item& item) override {
    while (!over_) {
      SHOAL_TRY_VOID(check_stopping(context_));
      const std::optional<size_t> input = drawn();
      if (!input) break;
      SHOAL_TRY(const bool more, inputs_[*input]->next(item));
      if (more) {
        ++draws_;
        return true;
      }
      ended_[*input] = true;  // draws_ does not grow: the same draw is repeated among the other inputs.
      over_ = options_.stops_with_the_first;
    }
    return false;
  }
  Result<void> restart(uint64_t pass) override {
    draws_ = 0;
    over_ = false;
    ended_.assign(inputs_.size(), false);
    pass_ = pass;
    for (const std::unique_ptr<Stage>& input : inputs_) SHOAL_TRY_VOID(input->restart(pass));
    return {};
  }
  Result<void> save(StateWriter& out) const override {
    out.number(key_);
    out.number(pass_);
    out.number(draws_);
    out.flag(over_);
    for (const bool ended : ended_) out.flag(ended);
    for (const std::unique_ptr<Stage>& input : inputs_) SHOAL_TRY_VOID(input->save(out));
    return {};
  }
  Result<void> load(StateReader& in) override {
    SHOAL_TRY(key_, in.number());
    SHOAL_TRY(pass_, in.number());
    SHOAL_TRY(draws_, in.number());
    SHOAL_TRY(over_, in.flag());
    for (size_t i = 0; i < inputs_.size(); ++i) {
      SHOAL_TRY(const bool ended, in.flag());
      ended_[i] = ended;
    }
    for (const std::unique_ptr<Stage>& input : inputs_) SHOAL_TRY_VOID(input->load(in));
    return {};
  }

 private:
  /// Draws an input. The result depends only on the random key (key_), the number of the pass over the dataset, the number
  /// of the draw, and which inputs have ended.
  std::optional<size_t> drawn() const {
    double sum = 0;
    for (size_t i = 0; i < inputs_.size(); ++i) sum += ended_[i] ? 0 : options_.weights[i];
    const auto words = philox(fold_in(key_, pass_), draws_);
    double left = double(uint64_t(words[0]) << 21 | words[1] >> 11) * 0x1p-53 * sum;
    std::optional<size_t> last;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (ended_[i] || options_.weights[i] == 0) continue;
      last = i;
      if (left < options_.weights[i]) break;
      left -= options_.weights[i];
    }
    return last;
  }

  const StageContext& context_;
  std::vector<std::unique_ptr<Stage>> inputs_;
  const SampleOptions& options_;
  RandomKey key_;
  uint64_t pass_ = 0, draws_ = 0;
  bool over_ = false;
  std::vector<bool> ended_;
};

class SampleNode final : public Node {
 public:
  SampleNode(Inputs inputs, SampleOptions options) : Node(std::move(inputs)), options_(std::move(options)) {}
  Result<std::unique_ptr<Stage>> make_stage(StageContext& context) const override {
    std::vector<std::unique_ptr<Stage>> stages;
    for (const NodePtr& input : inputs()) {
      SHOAL_TRY(std::unique_ptr<Stage> stage, input->stage(context));
      stages.push_back(std::move(stage));
    }
    const RandomKey key = context.next_random_key(options_.seed);
    return std::make_unique<SampleStage>(context, std::move(stages), options_, key);
  }
  std::string_view kind() const override { return "sample_from"; }
  std::optional<bool> reads_to_the_end() const override {
    return options_.stops_with_the_first ? std::optional<bool>(false) : std::nullopt;
  }
  RandomKey fold_parameters(RandomKey key) const override {
    key = fold_in(fold_in(key, "sample from"), options_.stops_with_the_first);
    for (const double weight : options_.weights) key = fold_in(key, std::bit_cast<uint64_t>(weight));
    return options_.seed ? fold_in(key, uint64_t(*options_.seed)) : key;
  }
  bool draws_without_seed() const override { return !options_.seed; }
  std::string_view moves_elements() const override {
    return options_.seed ? "sample_from has another order in each pass"
                         : "sample_from without a seed has another order in each iteration";
  }
  std::optional<bool> is_finite() const override {
    bool all = true;
    for (size_t i = 0; i < inputs().size(); ++i) {
      if (options_.weights[i] == 0) continue;
      const std::optional<bool> finite = inputs()[i]->is_finite();
      if (finite == true && options_.stops_with_the_first) return true;
      if (finite == false && !options_.stops_with_the_first) return false;
      all = all && finite.has_value();
    }
    return all ? std::optional<bool>(!options_.stops_with_the_first) : std::nullopt;
  }
  bool repeats_for_ever() const override {
    bool any = false, all = true;
    for (size_t i = 0; i < inputs().size(); ++i) {
      if (options_.weights[i] == 0) continue;
      const bool repeats = inputs()[i]->repeats_for_ever();
      any = any || repeats;
      all = all && repeats;
    }
    return options_.stops_with_the_first ? all : any;
  }
  std::optional<int64_t> cardinality() const override {
    if (options_.stops_with_the_first) return std::nullopt;
    int64_t sum = 0;
    for (size_t i = 0; i < inputs().size(); ++i) {
      if (options_.weights[i] == 0) continue;
      const std::optional<int64_t> count = inputs()[i]->cardinality();
      if (!count || __builtin_add_overflow(sum, *count, &sum)) return std::nullopt;
    }
    return sum;
  }

 private:
  const SampleOptions options_;
};

}  // namespace

NodePtr make_sample_node(std::vector<NodePtr> inputs, SampleOptions options) {
  return std::make_shared<SampleNode>(std::move(inputs), std::move(options));
}

}  // namespace shoal::data
