// SPDX-License-Identifier: Apache-2.0
// Sources that read nothing from outside the program: slices of tensors, one element, numbers.
#include <algorithm>
#include <cstring>

#include "indexed_stage.h"
#include "nodes.h"

namespace shoal::data {
namespace {

RandomKey fold_tensors(RandomKey key, const TensorMap& map) {
  key = fold_in(key, map.size());
  for (const auto& [name, tensor] : map) {
    key = fold_in(fold_in(key, name), uint64_t(tensor.dtype()));
    key = fold_in(key, uint64_t(tensor.shape().rank()));
    for (const int64_t size : tensor.shape().dims()) key = fold_in(key, uint64_t(size));
  }
  return key;
}

RandomKey fold_element(RandomKey key, const Element& element) {
  return fold_tensors(fold_tensors(key, element.features), element.labels);
}

bool same_data(const TensorMap& a, const TensorMap& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& one, const auto& other) {
    const Tensor &x = one.second, &y = other.second;
    if (one.first != other.first || x.dtype() != y.dtype() || !(x.shape() == y.shape())) return false;
    if (x.dtype() == DType::kString) return std::ranges::equal(x.strings(), y.strings());
    const void *from = x.view().data, *with = y.view().data;
    return from == with || x.bytes() == 0 || std::memcmp(from, with, x.bytes()) == 0;
  });
}

bool same_data(const Element& a, const Element& b) {
  return same_data(a.features, b.features) && same_data(a.labels, b.labels);
}

/// Gives one element.
class TensorsStage final : public IndexedStage {
 public:
  TensorsStage(const StageContext& context, std::shared_ptr<const Held> held)
      : IndexedStage(context, 1), held_(std::move(held)) {}

 private:
  void give(int64_t, Item& item) override { item.refer(held_); }
  const std::shared_ptr<const Held> held_;
};

/// A row of each of `tensors`, which need not have any: zeros, false or "".
TensorMap row_of_zeros(const TensorMap& tensors) {
  TensorMap row;
  for (const auto& [name, tensor] : tensors) {
    const Shape shape(tensor.shape().dims().subspan(1));
    row.set(name, tensor.dtype() == DType::kString
                      ? Tensor::of_strings(shape, std::vector<std::string>(size_t(shape.elements())))
                      : Tensor::zeros(tensor.dtype(), shape));
  }
  return row;
}

class SlicesNode final : public Node {
 public:
  explicit SlicesNode(Element tensors) : rows_(std::move(tensors)) {}
  Result<std::unique_ptr<Stage>> make_stage(StageContext& context) const override {
    if (!context.types_only || rows_.count() > 0) return std::make_unique<SlicesStage>(context, rows_);
    context.has_unfit_elements = true;
    const Element& all = rows_.tensors();
    Element row{row_of_zeros(all.features), row_of_zeros(all.labels)};
    return std::make_unique<TensorsStage>(context, std::make_shared<const Held>(Held{.element = std::move(row)}));
  }
  std::string_view kind() const override { return "from_tensor_slices"; }
  RandomKey fold_parameters(RandomKey key) const override { return fold_element(fold_in(key, "slices"), rows_.tensors()); }
  std::optional<bool> is_finite() const override { return true; }
  std::optional<int64_t> cardinality() const override { return rows_.count(); }
  bool has_data_of(const Node& other) const override {
    const auto* slices = dynamic_cast<const SlicesNode*>(&other);
    return slices && same_data(rows_.tensors(), slices->rows_.tensors());
  }

 private:
  class SlicesStage final : public IndexedStage {
   public:
    SlicesStage(const StageContext& context, const Rows& rows) : IndexedStage(context, rows.count()), rows_(rows) {}

   private:
    void give(int64_t index, Item& item) override { item.refer(rows_, index); }
    const Rows& rows_;
  };
  const Rows rows_;
};

class TensorsNode final : public Node {
 public:
  explicit TensorsNode(Element element) : held_(std::make_shared<const Held>(Held{.element = std::move(element)})) {}
  Result<std::unique_ptr<Stage>> make_stage(StageContext& context) const override {
    return std::make_unique<TensorsStage>(context, held_);
  }
  std::string_view kind() const override { return "from_tensors"; }
  RandomKey fold_parameters(RandomKey key) const override { return fold_element(fold_in(key, "tensors"), held_->element); }
  std::optional<bool> is_finite() const override { return true; }
  std::optional<int64_t> cardinality() const override { return 1; }
  bool has_data_of(const Node& other) const override {
    const auto* tensors = dynamic_cast<const TensorsNode*>(&other);
    return tensors && same_data(held_->element, tensors->held_->element);
  }

 private:
  const std::shared_ptr<const Held> held_;
};

class RangeNode final : public Node {
 public:
  RangeNode(int64_t begin, int64_t end, int64_t step) : begin_(begin), end_(end), step_(step) {}
  Result<std::unique_ptr<Stage>> make_stage(StageContext& context) const override {
    // A stage counts by int64. No iteration comes as far.
    auto numbers = int64_t(std::min<uint64_t>(count(), INT64_MAX));
    if (context.types_only && numbers == 0) {
      context.has_unfit_elements = true;
      numbers = 1;
    }
    return std::make_unique<RangeStage>(context, begin_, step_, numbers);
  }
  std::string_view kind() const override { return "range"; }
  RandomKey fold_parameters(RandomKey key) const override {
    return fold_in(fold_in(fold_in(fold_in(key, "range"), uint64_t(begin_)), uint64_t(end_)), uint64_t(step_));
  }
  std::optional<bool> is_finite() const override { return true; }
  std::optional<int64_t> cardinality() const override {
    const uint64_t numbers = count();
    return numbers > INT64_MAX ? std::nullopt : std::optional(int64_t(numbers));
  }

 private:
  class RangeStage final : public IndexedStage {
   public:
    RangeStage(const StageContext& context, int64_t begin, int64_t step, int64_t count)
        : IndexedStage(context, count), begin_(begin), step_(step) {}

   private:
    void give(int64_t index, Item& item) override {
      Element& element = item.own();
      if (Tensor* number = element.features.find(""); number && element.features.is_single() &&
                                                      number->dtype() == DType::kInt64 && number->shape() == Shape{} &&
                                                      number->unique()) {
        number->mutable_as<int64_t>()[0] = number_at(index);
      } else {
        element.features = TensorMap(Tensor::scalar<int64_t>(number_at(index)));
      }
      element.labels = TensorMap();
    }
    /// Computed in unsigned arithmetic: index * step may not fit int64.
    int64_t number_at(int64_t index) const { return int64_t(uint64_t(begin_) + uint64_t(index) * uint64_t(step_)); }
    int64_t begin_, step_;
  };

  /// Computed in unsigned arithmetic: end - begin may not fit int64.
  uint64_t count() const {
    if (step_ > 0 ? begin_ >= end_ : begin_ <= end_) return 0;
    const uint64_t distance = step_ > 0 ? uint64_t(end_) - uint64_t(begin_) : uint64_t(begin_) - uint64_t(end_);
    const uint64_t stride = step_ > 0 ? uint64_t(step_) : uint64_t(0) - uint64_t(step_);
    return (distance - 1) / stride + 1;
  }

  int64_t begin_, end_, step_;
};

}  // namespace

NodePtr make_slices_node(Element tensors) { return std::make_shared<SlicesNode>(std::move(tensors)); }
NodePtr make_tensors_node(Element element) { return std::make_shared<TensorsNode>(std::move(element)); }
NodePtr make_range_node(int64_t begin, int64_t end, int64_t step) { return std::make_shared<RangeNode>(begin, end, step); }

}  // namespace shoal::data
