#pragma once
/// Random pipelines, and a naive model of what they must yield: whole sequences, one transform after another.
#include <algorithm>
#include <random>

#include "collecting.h"

namespace shoal::data {

/// What a pipeline yields, and the error that follows.
struct Model {
  Values values;
  bool fails = false;
  bool may_hide_failure = false;  ///< True once skip or shard, which seek, may pass over what would fail.
};

inline Element triple(Element element, int64_t plus) {
  for (auto& [name, tensor] : element.features) {
    Tensor result(DType::kInt64, tensor.shape());
    for (size_t i = 0; i < tensor.as<int64_t>().size(); ++i) {
      result.mutable_as<int64_t>()[i] = tensor.as<int64_t>()[i] * 3 + plus;
    }
    tensor = result;
  }
  return element;
}
inline bool keeps(const Value& value) { return value.numbers.empty() || value.numbers[0] % 3 != 0; }

class RandomPipeline {
 public:
  /// `shuffles`: with shuffle too, which the model cannot follow (model() is then meaningless).
  RandomPipeline(uint64_t seed, bool shuffles, int length_max = 6) : random_(seed), shuffles_(shuffles) {
    source();
    const int length = below(length_max + 1);
    for (int i = 0; i < length; ++i) transform();
    if (below(4) == 0) {
      const int64_t count = below(60);
      dataset_ = dataset_->repeat().take(count);
      text_ += ".repeat().take(" + std::to_string(count) + ")";
      const Values once = model_.values;
      while (!model_.fails && !once.empty() && int64_t(model_.values.size()) < count) append(once);
      if (int64_t(model_.values.size()) >= count) cut(count);
    }
  }
  const Dataset& dataset() const { return *dataset_; }
  const Model& model() const { return model_; }
  const std::string& text() const { return text_; }

 private:
  int64_t below(int64_t bound) { return int64_t(random_() % uint64_t(bound)); }
  void append(const Values& more) { model_.values.insert(model_.values.end(), more.begin(), more.end()); }
  void cut(int64_t count) {
    if (count > int64_t(model_.values.size())) return;
    model_.values.resize(size_t(count));
    model_.fails = false;
  }

  void source() {
    const int64_t size = below(25);
    switch (below(3)) {
      case 0: {
        std::vector<int64_t> numbers;
        for (int64_t i = 0; i < size * 2; ++i) numbers.push_back(below(100));
        dataset_ = Dataset::from_tensor_slices(Tensor::of<int64_t>(Shape{size, 2}, std::span<const int64_t>(numbers)));
        for (size_t i = 0; i < numbers.size(); i += 2) model_.values.push_back({{2}, {numbers[i], numbers[i + 1]}});
        text_ = "slices(" + std::to_string(size) + ")";
        return;
      }
      case 1:
        dataset_ = Dataset::range(size);
        model_.values = counting(0, size);
        text_ = "range(" + std::to_string(size) + ")";
        return;
      default:
        dataset_ = Dataset::from_resumable_generator([size](int64_t first) {
          return [size, next = first](Element& element) mutable -> Result<bool> {
            if (next >= size) return false;
            element = {Tensor::scalar<int64_t>(next++), {}};
            return true;
          };
        });
        model_.values = counting(0, size);
        text_ = "generator(" + std::to_string(size) + ")";
    }
  }

  void transform() {
    const int64_t n = below(6);
    const std::string number = "(" + std::to_string(n) + ")";
    switch (below(shuffles_ ? 14 : 12)) {
      case 0: return map(1), void(text_ += ".map()");
      case 1: return map(int(2 + below(4))), void(text_ += ".parallel_map()");
      case 2:
        dataset_ = dataset_->filter([](const Element& element) { return keeps(value_of(element)); });
        std::erase_if(model_.values, [](const Value& value) { return !keeps(value); });
        return void(text_ += ".filter()");
      case 3:
        dataset_ = dataset_->take(n);
        cut(n);
        return void(text_ += ".take" + number);
      case 4:
        dataset_ = dataset_->skip(n);
        model_.may_hide_failure |= model_.fails;
        model_.values.erase(model_.values.begin(), model_.values.begin() + std::min(n, int64_t(model_.values.size())));
        return void(text_ += ".skip" + number);
      case 5:
        dataset_ = dataset_->concatenate(Dataset::range(n));
        if (!model_.fails) append(counting(0, n));
        return void(text_ += ".concatenate" + number);
      case 6:
      case 7: return batch(n + 1, below(2) == 0);
      case 8:
        dataset_ = dataset_->repeat(n % 4);
        repeat(n % 4);
        return void(text_ += ".repeat(" + std::to_string(n % 4) + ")");
      case 9: return shard(n + 1, below(n + 1));
      case 10:
        dataset_ = dataset_->prefetch(n);
        return void(text_ += ".prefetch" + number);
      case 11:
        if (below(3) == 0) return unbatch();
        if (below(2) == 0) return split(0.1 * double(1 + below(9)), below(100), below(2) == 0);
        dataset_ = dataset_->cache();
        return void(text_ += ".cache()");
      default: return shuffle(1 + below(12));
    }
  }

  void map(int parallel) {
    dataset_ = dataset_->map([](Element element) { return triple(std::move(element), 1); }, {.parallel = parallel});
    for (Value& value : model_.values) {
      for (int64_t& number : value.numbers) number = number * 3 + 1;
    }
  }

  void batch(int64_t size, bool drop) {
    text_ += ".batch(" + std::to_string(size) + (drop ? ", drop)" : ")");
    dataset_ = dataset_->batch(size, {.drop_remainder = drop});
    const Values from = std::exchange(model_.values, {});
    for (size_t begin = 0; begin < from.size(); begin += size_t(size)) {
      const size_t end = std::min(from.size(), begin + size_t(size));
      if (end - begin < size_t(size) && (drop || model_.fails)) break;
      Value stacked{{int64_t(end - begin)}, {}};
      stacked.shape.insert(stacked.shape.end(), from[begin].shape.begin(), from[begin].shape.end());
      for (size_t i = begin; i < end; ++i) {
        if (from[i].shape != from[begin].shape) return void(model_.fails = true);
        stacked.numbers.insert(stacked.numbers.end(), from[i].numbers.begin(), from[i].numbers.end());
      }
      model_.values.push_back(stacked);
    }
  }

  void unbatch() {
    text_ += ".unbatch()";
    dataset_ = dataset_->unbatch();
    const Values from = std::exchange(model_.values, {});
    for (const Value& value : from) {
      if (value.shape.empty()) return void(model_.fails = true);
      const size_t row = value.numbers.size() / size_t(value.shape[0]);
      for (size_t i = 0; i < size_t(value.shape[0]); ++i) {
        const auto begin = value.numbers.begin() + ptrdiff_t(i * row);
        model_.values.push_back({{value.shape.begin() + 1, value.shape.end()}, {begin, begin + ptrdiff_t(row)}});
      }
    }
  }

  void repeat(int64_t count) {
    if (count == 0) return void(model_ = {});
    const Values once = model_.values;
    for (int64_t i = 1; i < count && !model_.fails; ++i) append(once);
  }

  void shard(int64_t count, int64_t index) {
    text_ += ".shard(" + std::to_string(count) + ", " + std::to_string(index) + ")";
    dataset_ = dataset_->shard(count, index);
    model_.may_hide_failure |= model_.fails;
    const Values from = std::exchange(model_.values, {});
    for (size_t i = size_t(index); i < from.size(); i += size_t(count)) model_.values.push_back(from[i]);
  }

  void split(double share, int64_t seed, bool held_out) {
    text_ +=
        std::string(held_out ? ".held_out" : ".training") + "(" + std::to_string(share) + ", " + std::to_string(seed) + ")";
    const Split sides = dataset_->split(share, {.seed = seed});
    dataset_ = held_out ? sides.held_out : sides.training;
    model_.may_hide_failure |= model_.fails;
    const Values from = std::exchange(model_.values, {});
    VirtualWorld world(1);
    const Split numbers = Dataset::range(int64_t(from.size())).split(share, {.seed = seed});
    for (const Value& taken : collect(held_out ? numbers.held_out : numbers.training, world.add_task())) {
      model_.values.push_back(from[size_t(taken.numbers.at(0))]);
    }
  }

  void shuffle(int64_t buffer) {
    ShuffleOptions options{.seed = {}, .reshuffle_each_iteration = below(4) != 0};
    if (below(2) == 0) options.seed = below(100);
    dataset_ = dataset_->shuffle(buffer, options);
    text_ += ".shuffle(" + std::to_string(buffer) + (options.seed ? ", seeded)" : ")");
  }

  std::mt19937_64 random_;
  bool shuffles_;
  std::optional<Dataset> dataset_;
  Model model_;
  std::string text_;
};

}  // namespace shoal::data
