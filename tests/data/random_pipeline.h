// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Random pipelines, and a naive model of what they must yield: whole sequences, one transform after another.
#include <algorithm>
#include <cstdlib>
#include <random>

#include "collecting.h"

namespace shoal::data {

/// The number in an environment variable, for longer runs of a test.
inline uint64_t number_of(const char* variable, uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

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
  /// `threads`: false makes the same pipeline without read-ahead and without calls at once.
  RandomPipeline(uint64_t seed, bool shuffles, int length_max = 10, bool threads = true)
      : random_(seed), shuffles_(shuffles), threads_(threads) {
    source();
    const int64_t length = below(length_max + 1);
    for (int64_t i = 0; i < length; ++i) transform();
    if (below(4) == 0) repeat_for_ever(below(60));
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

  /// In memory, and sometimes in a file, which takes a disk's time. The file has the order of the pass that was complete, which the model knows only without shuffles.
  void cache() {
    if (shuffles_ || dataset_->repeats_for_ever() || below(8) != 0) {
      dataset_ = dataset_->cache();
      text_ += ".cache()";
      return;
    }
    if (!folder_) folder_ = std::make_unique<TemporaryFolder>();
    dataset_ = dataset_->cache(*folder_ / std::to_string(files_++), {.compress = below(2) == 0});
    text_ += ".cache(file)";
  }

  void source() {
    const int64_t size = below(25);
    switch (below(4)) {
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
      case 2:
        dataset_ = Dataset::from_tensors(Tensor::of<int64_t>(Shape{2}, {size, size + 1}));
        model_.values = {{{2}, {size, size + 1}}};
        text_ = "tensors(" + std::to_string(size) + ")";
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
    switch (below(shuffles_ ? 28 : 25)) {
      case 0: return map(1), void(text_ += ".map()");
      case 1: return parallel_map(int(2 + below(4)));
      case 2:
        dataset_ = dataset_->filter([](const Element& element) { return keeps(value_of(element)); });
        std::erase_if(model_.values, [](const Value& value) { return !keeps(value); });
        return void(text_ += ".filter()");
      case 3: return take(below(3) == 0 ? n : 4 * n);
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
      case 10: return prefetch(n);
      case 11: return unbatch();
      case 12: return split(0.1 * double(1 + below(9)), below(100), below(2) == 0);
      case 13:  // A cache is tried more often: it hands out the same elements again, and a pass of it may be broken off.
      case 14: cache(); return below(2) == 0 ? take(2 * n) : void();
      case 15: return below(2) == 0 ? zip(4 * n) : enumerate(n);
      case 16: return below(3) == 0 ? repeat_for_ever(5 * n) : padded_batch(n + 1, 1 + below(2));
      case 17: return flat_map();
      case 18: return interleave(1 + below(3), 1 + below(3), below(2) == 0);
      case 19: return window(1 + below(3), 1 + below(3), 1 + below(2), below(2) == 0);
      case 20: return take_while();
      case 21: return scan();
      case 22: return bucket(1 + below(3), 1 + below(3), below(2) == 0);
      case 23: return ignore_errors(below(2) == 0 ? 1 : 3);
      case 24: return rebatch(1 + below(3));
      case 25: return random_map(below(2) == 0 ? 1 : 3);
      case 26: return sample();
      default: return shuffle(1 + below(12));
    }
  }

  static int64_t first_of(const Value& value) { return value.numbers.empty() ? 0 : value.numbers[0]; }
  /// What flat_map and interleave make of an element: up to three numbers.
  static Values several(const Value& value) {
    const int64_t first = first_of(value);
    return counting(first * 10, first * 10 + std::abs(first) % 4);
  }
  static Dataset dataset_of(const Element& element) {
    const int64_t first = first_of(value_of(element));
    return Dataset::range(first * 10, first * 10 + std::abs(first) % 4);
  }

  void flat_map() {
    text_ += ".flat_map()";
    dataset_ = dataset_->flat_map(dataset_of);
    for (const Value& value : std::exchange(model_.values, {})) append(several(value));
  }

  void interleave(int64_t cycle, int64_t block, bool parallel) {
    text_ += ".interleave(" + std::to_string(cycle) + ", " + std::to_string(block) + (parallel ? ", parallel)" : ")");
    dataset_ = dataset_->interleave(dataset_of, {.cycle = cycle, .block = block, .parallel = parallel && threads_});
    const Values from = std::exchange(model_.values, {});
    std::vector<std::optional<Values>> slots{size_t(cycle)};
    size_t taken = 0;
    for (size_t turn = 0, empty = 0; empty < slots.size(); turn = (turn + 1) % slots.size()) {
      std::optional<Values>& slot = slots[turn];
      if (!slot && taken == from.size()) {
        if (model_.fails) return;
        ++empty;
        continue;
      }
      empty = 0;
      if (!slot) slot = several(from[taken++]);
      for (int64_t given = 0; given < block; ++given) {
        if (slot->empty()) {
          slot.reset();
          break;
        }
        model_.values.push_back(slot->front());
        slot->erase(slot->begin());
      }
    }
  }

  void window(int64_t size, int64_t shift, int64_t stride, bool drop) {
    text_ += ".window(" + std::to_string(size) + ", " + std::to_string(shift) + ", " + std::to_string(stride) +
             (drop ? ", drop)" : ")");
    dataset_ = dataset_->window(size, {.shift = shift, .stride = stride, .drop_remainder = drop});
    model_.may_hide_failure |= model_.fails && shift > (size - 1) * stride + 1;
    const Values from = std::exchange(model_.values, {});
    for (size_t begin = 0; begin < from.size(); begin += size_t(shift)) {
      if (begin + size_t((size - 1) * stride) >= from.size() && model_.fails) return;
      Values rows;
      for (int64_t i = 0; i < size && begin + size_t(i * stride) < from.size(); ++i)
        rows.push_back(from[begin + size_t(i * stride)]);
      if (drop && int64_t(rows.size()) < size) return;
      if (!push_stacked(rows)) return;
    }
  }

  /// False, and the model fails, if the rows cannot be stacked.
  bool push_stacked(const Values& rows) {
    Value stacked{{int64_t(rows.size())}, {}};
    stacked.shape.insert(stacked.shape.end(), rows[0].shape.begin(), rows[0].shape.end());
    if (rows[0].shape.size() == size_t(Shape::kRankMax)) return !(model_.fails = true);
    for (const Value& row : rows) {
      if (row.shape != rows[0].shape) return !(model_.fails = true);
      stacked.numbers.insert(stacked.numbers.end(), row.numbers.begin(), row.numbers.end());
    }
    model_.values.push_back(std::move(stacked));
    return true;
  }

  void take_while() {
    text_ += ".take_while()";
    dataset_ = dataset_->take_while([](const Element& element) { return first_of(value_of(element)) % 9 != 8; });
    const auto refused = std::ranges::find_if(model_.values, [](const Value& value) { return first_of(value) % 9 == 8; });
    if (refused == model_.values.end()) return;
    model_.values.erase(refused, model_.values.end());
    model_.fails = false;
  }

  /// The sum of all first numbers so far, as a scalar.
  void scan() {
    text_ += ".scan()";
    const auto add = [](Element& state, const Element& element) {
      const int64_t sum = state.features.single().as<int64_t>()[0] + first_of(value_of(element));
      state = {Tensor::scalar(sum), {}};
      return state;
    };
    dataset_ = dataset_->scan({Tensor::scalar(int64_t(0)), {}}, add);
    int64_t sum = 0;
    for (Value& value : model_.values) value = Value(sum += first_of(value));
  }

  /// By how many numbers an element has, with an end at two.
  void bucket(int64_t short_size, int64_t long_size, bool drop) {
    text_ += ".bucket(" + std::to_string(short_size) + ", " + std::to_string(long_size) + (drop ? ", drop)" : ")");
    const auto length = [](const Element& element) { return int64_t(value_of(element).numbers.size()); };
    dataset_ = dataset_->bucket_by_length(
        length, {.boundaries = {2}, .batch_sizes = {short_size, long_size}, .padding = {.drop_remainder = drop}});
    const Values from = std::exchange(model_.values, {});
    Values buckets[2];
    const bool failed = std::exchange(model_.fails, false);
    for (const Value& value : from) {
      Values& waiting = buckets[value.numbers.size() >= 2];
      waiting.push_back(value);
      if (int64_t(waiting.size()) < (&waiting == buckets ? short_size : long_size)) continue;
      if (!push_padded(waiting, 1)) return;
      waiting.clear();
    }
    model_.fails = failed;
    for (Values& waiting : buckets) {
      if (!model_.fails && !waiting.empty() && !drop) push_padded(waiting, 1);
    }
  }

  /// False, and the model fails, if the rows cannot be padded to one shape.
  bool push_padded(const Values& rows, int64_t multiple) {
    if (rows[0].shape.size() == size_t(Shape::kRankMax)) return !(model_.fails = true);
    std::vector<int64_t> dims(rows[0].shape.size(), 0);
    for (const Value& row : rows) {
      if (row.shape.size() != dims.size()) return !(model_.fails = true);
      for (size_t axis = 0; axis < dims.size(); ++axis) dims[axis] = std::max(dims[axis], row.shape[axis]);
    }
    for (int64_t& dim : dims) dim = (dim + multiple - 1) / multiple * multiple;
    Value batch{{int64_t(rows.size())}, {}};
    batch.shape.insert(batch.shape.end(), dims.begin(), dims.end());
    for (const Value& row : rows) append_padded(row, dims, 0, 0, true, batch.numbers);
    model_.values.push_back(std::move(batch));
    return true;
  }

  /// A map that fails for some elements, which are left out.
  void ignore_errors(int parallel) {
    text_ += ".ignore_errors(" + std::to_string(parallel) + ")";
    const auto picky = [](Element element) -> Result<Element> {
      if (first_of(value_of(element)) % 5 == 4) return invalid_argument("not this one");
      return element;
    };
    dataset_ = dataset_->map(picky, {.parallel = threads_ ? parallel : 1}).ignore_errors(-1);
    std::erase_if(model_.values, [](const Value& value) { return first_of(value) % 5 == 4; });
  }

  void rebatch(int64_t size) {
    text_ += ".rebatch";
    dataset_ = dataset_->rebatch(size);
    const std::string text = text_;
    const Dataset dataset = *dataset_;
    unbatch();
    batch(size, false);
    dataset_ = dataset;
    text_ = text + "(" + std::to_string(size) + ")";
  }

  void random_map(int parallel) {
    text_ += ".random_map(" + std::to_string(parallel) + ")";
    const auto add = [](Element element, RandomStream& random) {
      return triple(std::move(element), int64_t(random.below(1000)));
    };
    const auto keep = [](const Element&, RandomStream& random) { return random.below(4) != 0; };
    dataset_ = dataset_->map(add, {.parallel = threads_ ? parallel : 1}).filter(keep);
  }

  void sample() {
    text_ += ".sample()";
    SampleOptions options{.weights = {2, 1}, .stops_with_the_first = below(2) == 0};
    if (below(2) == 0) options.seed = below(100);
    dataset_ = Dataset::sample_from({*dataset_, Dataset::range(below(20))}, options);
  }

  void take(int64_t count) {
    dataset_ = dataset_->take(count);
    cut(count);
    text_ += ".take(" + std::to_string(count) + ")";
  }

  void repeat_for_ever(int64_t count) {
    dataset_ = dataset_->repeat().take(count);
    text_ += ".repeat().take(" + std::to_string(count) + ")";
    const Values once = model_.values;
    while (!model_.fails && !once.empty() && int64_t(model_.values.size()) < count) append(once);
    if (int64_t(model_.values.size()) >= count) cut(count);
  }

  /// zip with the numbers below `count`, and a map that adds both tensors, so that one is left.
  void zip(int64_t count) {
    text_ += ".zip(" + std::to_string(count) + ")";
    const auto named = [](const char* name) {
      return [name](Element element) { return Element{{{name, std::move(element.features.single())}}, {}}; };
    };
    dataset_ = Dataset::zip({dataset_->map(named("a")), Dataset::range(count).map(named("b"))}).map(sum_of("a", "b"));
    if (int64_t(model_.values.size()) > count) model_.values.resize(size_t(count)), model_.fails = false;
    if (model_.fails) model_.may_hide_failure = true;  // The shorter input decides, and skip() asks for no element.
    add_positions(0);
  }

  /// enumerate, and a map that adds its number to the other tensor.
  void enumerate(int64_t start) {
    text_ += ".enumerate(" + std::to_string(start) + ")";
    dataset_ = dataset_->enumerate(start, "number").map(sum_of("", "number"));
    add_positions(start);
  }

  static std::function<Element(Element)> sum_of(const char* tensor, const char* number) {
    return [tensor, number](const Element& element) {
      const Tensor &from = element.features[tensor], &plus = element.features[number];
      Tensor sum(DType::kInt64, from.shape());
      for (size_t i = 0; i < from.as<int64_t>().size(); ++i) {
        sum.mutable_as<int64_t>()[i] = from.as<int64_t>()[i] + plus.as<int64_t>()[0];
      }
      return Element{sum, {}};
    };
  }

  void add_positions(int64_t start) {
    for (size_t i = 0; i < model_.values.size(); ++i) {
      for (int64_t& number : model_.values[i].numbers) number += start + int64_t(i);
    }
  }

  void padded_batch(int64_t size, int64_t multiple) {
    text_ += ".padded_batch(" + std::to_string(size) + ", " + std::to_string(multiple) + ")";
    dataset_ = dataset_->padded_batch(size, {.multiple_of = multiple});
    const Values from = std::exchange(model_.values, {});
    for (size_t begin = 0; begin < from.size(); begin += size_t(size)) {
      const size_t end = std::min(from.size(), begin + size_t(size));
      if (end - begin < size_t(size) && model_.fails) break;
      if (!push_padded(Values(from.begin() + ptrdiff_t(begin), from.begin() + ptrdiff_t(end)), multiple)) return;
    }
  }

  /// Appends `value` filled up with zeros to `dims`, from axis `axis` on. `at`: the position so far, in rows of that axis.
  /// `inside`: whether the value has a row there.
  static void append_padded(const Value& value, const std::vector<int64_t>& dims, size_t axis, int64_t at, bool inside,
                            std::vector<int64_t>& into) {
    if (axis == dims.size()) return into.push_back(inside ? value.numbers[size_t(at)] : 0);
    for (int64_t i = 0; i < dims[axis]; ++i) {
      append_padded(value, dims, axis + 1, at * value.shape[axis] + i, inside && i < value.shape[axis], into);
    }
  }

  void prefetch(int64_t count) {
    text_ += ".prefetch(" + std::to_string(count) + ")";
    if (threads_) dataset_ = dataset_->prefetch(count);
  }

  /// Five calls stand for a map that finds its number of calls.
  void parallel_map(int calls) {
    map(calls == 5 ? -1 : calls);
    text_ += ".parallel_map()";
  }
  void map(int parallel) {
    const MapOptions options{.parallel = threads_ ? parallel : 1};
    dataset_ = dataset_->map([](Element element) { return triple(std::move(element), 1); }, options);
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
      if (from[begin].shape.size() == size_t(Shape::kRankMax)) return void(model_.fails = true);
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
    std::optional<Split> divided;
    if (raised([&] { divided = dataset_->split(share, {.seed = seed}); })) {  // Behind a shuffle or a repeat.
      return void(text_ += " refused");
    }
    const Split& sides = *divided;
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
  bool threads_;
  std::unique_ptr<TemporaryFolder> folder_;  // Of caches in files.
  int files_ = 0;
  std::optional<Dataset> dataset_;
  Model model_;
  std::string text_;
};

}  // namespace shoal::data
