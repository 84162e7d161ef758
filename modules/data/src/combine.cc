// SPDX-License-Identifier: Apache-2.0
// Datasets of several inputs: zip, zip_labels, concatenate.
#include <algorithm>
#include <optional>

#include "nodes.h"

namespace shoal::data {
namespace {

class ZipStage final : public Stage {
 public:
  /// `labelled`: there are two inputs, and the features of the second become labels.
  /// `order`: the order in which skip() passes over elements of the inputs.
  ZipStage(StageContext& context, std::vector<std::unique_ptr<Stage>> inputs, std::vector<size_t> order, bool labelled)
      : context_(context),
        inputs_(std::move(inputs)),
        order_(std::move(order)),
        items_(inputs_.size()),
        labelled_(labelled) {}

  Result<bool> next(Item& item) override {
    for (size_t i = 0; i < inputs_.size() && !ended_; ++i) {
      SHOAL_TRY(const bool more, inputs_[i]->next(items_[i]));
      ended_ = !more;
    }
    if (ended_) return false;  // Once one input has ended, the others are not read any further, since a read could fail.
    Element& united = item.own();
    united = Element();
    for (size_t i = 0; i < inputs_.size(); ++i) {
      Element part = std::exchange(items_[i].materialise(context_.env.buffers()), Element());
      if (labelled_ && !part.labels.empty()) {
        return invalid_argument("zip_labels: input " + std::to_string(i) + " has labels already");
      }
      SHOAL_TRY_VOID(unite(part.features, labelled_ && i == 1 ? united.labels : united.features));
      SHOAL_TRY_VOID(unite(part.labels, united.labels));
    }
    // A record is the place in a file from which an element was read; errors name it. The new element gets a record only if
    // exactly one input has records: with two, it would not be clear which place an error should name.
    const auto with_records = [](const Item& one) { return one.has_records(); };
    if (std::ranges::count_if(items_, with_records) == 1) item.take_records(*std::ranges::find_if(items_, with_records));
    return true;
  }

  Result<int64_t> skip(int64_t count) override {
    if (ended_) return int64_t(0);
    int64_t least = count;
    std::optional<Error> failed;
    for (const size_t i : order_) {
      Result<int64_t> skipped = inputs_[i]->skip(least);
      if (skipped) {
        least = std::min(least, *skipped);
      } else if (!failed) {
        failed = std::move(skipped).error();
      }
    }
    ended_ = least < count;
    // Returns the error of an input only if next() would meet it, too. If `least` is 0, an input has no more elements, and
    // next() would end the dataset there instead.
    if (failed && least > 0) return std::move(*failed);
    return least;
  }
  Result<void> restart(uint64_t pass) override {
    ended_ = false;
    for (const std::unique_ptr<Stage>& input : inputs_) SHOAL_TRY_VOID(input->restart(pass));
    return {};
  }
  Result<void> save(StateWriter& out) const override {
    for (const std::unique_ptr<Stage>& input : inputs_) SHOAL_TRY_VOID(input->save(out));
    return {};
  }
  Result<void> load(StateReader& in) override {
    ended_ = false;
    for (const std::unique_ptr<Stage>& input : inputs_) SHOAL_TRY_VOID(input->load(in));
    return {};
  }

 private:
  static Result<void> unite(TensorMap& from, TensorMap& into) {
    for (auto& [name, tensor] : from) {
      if (into.find(name)) {
        return invalid_argument("zip: two inputs have a tensor named \"" + name + "\"; rename one with map");
      }
      into.set(name, std::move(tensor));
    }
    return {};
  }

  StageContext& context_;
  std::vector<std::unique_ptr<Stage>> inputs_;
  const std::vector<size_t> order_;
  std::vector<Item> items_;
  const bool labelled_;
  bool ended_ = false;
};

Result<std::vector<std::unique_ptr<Stage>>> make_stages(const Node::Inputs& inputs, StageContext& context) {
  std::vector<std::unique_ptr<Stage>> stages;
  for (const NodePtr& input : inputs) {
    SHOAL_TRY(std::unique_ptr<Stage> stage, input->stage(context));
    stages.push_back(std::move(stage));
  }
  return stages;
}

class ZipNode final : public Node {
 public:
  ZipNode(Inputs inputs, bool labelled) : Node(std::move(inputs)), labelled_(labelled) {}
  Result<std::unique_ptr<Stage>> make_stage(StageContext& context) const override {
    SHOAL_TRY(std::vector<std::unique_ptr<Stage>> stages, make_stages(inputs(), context));
    // Inputs with a known end come first, so that the others are never read past that end, where reading may fail.
    std::vector<size_t> order;
    for (const bool known : {true, false}) {
      for (size_t i = 0; i < inputs().size(); ++i) {
        if (inputs()[i]->cardinality().has_value() == known) order.push_back(i);
      }
    }
    return std::make_unique<ZipStage>(context, std::move(stages), std::move(order), labelled_);
  }
  std::string_view kind() const override { return "zip"; }
  std::optional<bool> reads_to_the_end() const override {
    return inputs().size() == 1 ? std::nullopt : std::optional<bool>(false);
  }
  RandomKey fold_parameters(RandomKey key) const override { return fold_in(key, labelled_ ? "zip labels" : "zip"); }
  std::optional<bool> is_finite() const override {
    bool known = true;
    for (const NodePtr& input : inputs()) {
      const std::optional<bool> finite = input->is_finite();
      if (finite == true) return true;
      known = known && finite.has_value();
    }
    return known ? std::optional<bool>(false) : std::nullopt;
  }
  bool repeats_for_ever() const override {
    return std::all_of(inputs().begin(), inputs().end(), [](const NodePtr& input) { return input->repeats_for_ever(); });
  }
  std::optional<int64_t> cardinality() const override {
    std::optional<int64_t> shortest;
    for (const NodePtr& input : inputs()) {
      const std::optional<int64_t> count = input->cardinality();
      if (!count && input->is_finite() != false) return std::nullopt;
      if (count) shortest = std::min(shortest.value_or(*count), *count);
    }
    return shortest;
  }

 private:
  bool labelled_;
};

class ConcatenateStage final : public Stage {
 public:
  explicit ConcatenateStage(std::vector<std::unique_ptr<Stage>> inputs) : inputs_(std::move(inputs)) {}
  Result<bool> next(Item& item) override {
    for (; at_ < inputs_.size(); ++at_) {
      SHOAL_TRY(const bool more, inputs_[at_]->next(item));
      if (more) return true;
    }
    return false;
  }
  Result<int64_t> skip(int64_t count) override {
    int64_t skipped = 0;
    for (; at_ < inputs_.size(); ++at_) {
      SHOAL_TRY(const int64_t some, inputs_[at_]->skip(count - skipped));
      skipped += some;
      if (skipped == count) break;
    }
    return skipped;
  }
  Result<void> restart(uint64_t pass) override {
    at_ = 0;
    for (const std::unique_ptr<Stage>& input : inputs_) SHOAL_TRY_VOID(input->restart(pass));
    return {};
  }
  Result<void> save(StateWriter& out) const override {
    out.number(at_);
    for (const std::unique_ptr<Stage>& input : inputs_) SHOAL_TRY_VOID(input->save(out));
    return {};
  }
  Result<void> load(StateReader& in) override {
    SHOAL_TRY(const int64_t at, in.count(int64_t(inputs_.size())));
    at_ = size_t(at);
    for (const std::unique_ptr<Stage>& input : inputs_) SHOAL_TRY_VOID(input->load(in));
    return {};
  }

 private:
  std::vector<std::unique_ptr<Stage>> inputs_;
  size_t at_ = 0;
};

class ConcatenateNode final : public Node {
 public:
  explicit ConcatenateNode(Inputs inputs) : Node(std::move(inputs)) {}
  Result<std::unique_ptr<Stage>> make_stage(StageContext& context) const override {
    SHOAL_TRY(std::vector<std::unique_ptr<Stage>> stages, make_stages(inputs(), context));
    return std::make_unique<ConcatenateStage>(std::move(stages));
  }
  std::string_view kind() const override { return "concatenate"; }
  RandomKey fold_parameters(RandomKey key) const override { return fold_in(key, "concatenate"); }
  std::optional<bool> is_finite() const override {
    bool known = true;
    for (const NodePtr& input : inputs()) {
      const std::optional<bool> finite = input->is_finite();
      if (finite == false) return false;
      known = known && finite.has_value();
    }
    return known ? std::optional<bool>(true) : std::nullopt;
  }
  bool repeats_for_ever() const override {
    return std::any_of(inputs().begin(), inputs().end(), [](const NodePtr& input) { return input->repeats_for_ever(); });
  }
  std::optional<int64_t> cardinality() const override {
    int64_t sum = 0;
    for (const NodePtr& input : inputs()) {
      const std::optional<int64_t> count = input->cardinality();
      if (!count || __builtin_add_overflow(sum, *count, &sum)) return std::nullopt;
    }
    return sum;
  }
};

}  // namespace

NodePtr make_zip_node(std::vector<NodePtr> inputs) { return std::make_shared<ZipNode>(std::move(inputs), false); }
NodePtr make_zip_labels_node(NodePtr features, NodePtr labels) {
  return std::make_shared<ZipNode>(Node::Inputs{std::move(features), std::move(labels)}, true);
}
NodePtr make_concatenate_node(NodePtr first, NodePtr second) {
  return std::make_shared<ConcatenateNode>(Node::Inputs{std::move(first), std::move(second)});
}

}  // namespace shoal::data
