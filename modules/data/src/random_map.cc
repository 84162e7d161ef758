// SPDX-License-Identifier: Apache-2.0
// map and filter whose functions draw random numbers. The key of an element follows from the seed, the pass and the
// element's number in it, so the numbers are the same on any number of threads and after a resume.
#include "nodes.h"
#include "one_input_stage.h"

namespace shoal::data {
namespace {

// KeyStage gives each element a random key, from which its random numbers are drawn, as a feature with this name.
// with_key() takes the feature out before it calls the user's function.
constexpr std::string_view kKeyName = "\x01random key";

/// Computes for each element of the input its random key, the seed of the random numbers that are drawn for the element.
class Keys {
 public:
  explicit Keys(RandomKey key) : key_(key) {}
  RandomKey of(int64_t number) const { return fold_in(fold_in(key_, pass_), uint64_t(number)); }
  void go_to_pass(uint64_t pass) { pass_ = pass; }
  void save(StateWriter& out) const {
    out.number(key_);
    out.number(pass_);
  }
  Result<void> load(StateReader& in) {
    SHOAL_TRY(key_, in.number());
    SHOAL_TRY(pass_, in.number());
    return {};
  }

 private:
  RandomKey key_;
  uint64_t pass_ = 0;
};

/// A stage that computes a random key for each element. index_ (of OneInputStage) counts the elements of the input.
class KeyedStage : public OneInputStage {
 public:
  KeyedStage(StageContext& context, std::unique_ptr<Stage> input, RandomKey key)
      : OneInputStage(std::move(input)), context_(context), keys_(key) {}
  Result<void> restart(uint64_t pass) override {
    keys_.go_to_pass(pass);
    return OneInputStage::restart(pass);
  }
  Result<void> save(StateWriter& out) const override {
    keys_.save(out);
    return OneInputStage::save(out);
  }
  Result<void> load(StateReader& in) override {
    SHOAL_TRY_VOID(keys_.load(in));
    return OneInputStage::load(in);
  }

 protected:
  StageContext& context_;
  Keys keys_;
};

/// Adds to each element the element's random key, as a feature with the name kKeyName.
class KeyStage final : public KeyedStage {
 public:
  using KeyedStage::KeyedStage;
  Result<bool> next(Item& item) override {
    SHOAL_TRY(const bool more, input_->next(item));
    if (!more) return false;
    const RecordId record = item.record();
    Element& element = item.materialise(context_.env.buffers());
    element.features.set(std::string(kKeyName), Tensor::scalar(int64_t(keys_.of(index_++))));
    item.set_record(record);
    return true;
  }
  Result<int64_t> skip(int64_t count) override {
    SHOAL_TRY(const int64_t skipped, input_->skip(count));
    index_ += skipped;
    return skipped;
  }
};

class KeyNode final : public Node {
 public:
  KeyNode(NodePtr input, std::optional<int64_t> seed) : Node({std::move(input)}), seed_(seed) {}
  Result<std::unique_ptr<Stage>> make_stage(StageContext& context) const override {
    SHOAL_TRY(std::unique_ptr<Stage> stage, input().stage(context));
    return std::make_unique<KeyStage>(context, std::move(stage), context.next_random_key(seed_));
  }
  std::string_view kind() const override { return "map"; }
  RandomKey fold_parameters(RandomKey key) const override {
    key = fold_in(key, "random keys");
    return seed_ ? fold_in(key, uint64_t(*seed_)) : key;
  }
  bool draws_without_seed() const override { return !seed_; }
  bool gives_random_values() const override { return true; }

 private:
  const std::optional<int64_t> seed_;
};

class RandomFilterStage final : public KeyedStage {
 public:
  RandomFilterStage(StageContext& context, std::unique_ptr<Stage> input, const RandomFilterFn& fn, RandomKey key)
      : KeyedStage(context, std::move(input), key), fn_(fn) {}
  Result<bool> next(Item& item) override {
    while (true) {
      failed_ = false;
      SHOAL_TRY_VOID(check_stopping(context_));
      SHOAL_TRY(const bool more, input_->next(item));
      if (!more) return false;
      RandomStream random(keys_.of(index_));
      const auto draws = [&](const Element& element) { return fn_(element, random); };
      Result<bool> keep = ask(draws, item, context_, "the function of filter", {index_, false});
      ++index_;
      failed_ = !keep;
      if (!keep || *keep) return keep;
    }
  }
  bool fails_for_one_element() const override { return failed_; }

 private:
  const RandomFilterFn& fn_;
  bool failed_ = false;
};

class RandomFilterNode final : public Node {
 public:
  RandomFilterNode(NodePtr input, RandomFilterFn fn, std::optional<int64_t> seed)
      : Node({std::move(input)}), fn_(std::move(fn)), seed_(seed) {}
  Result<std::unique_ptr<Stage>> make_stage(StageContext& context) const override {
    SHOAL_TRY(std::unique_ptr<Stage> stage, input().stage(context));
    return std::make_unique<RandomFilterStage>(context, std::move(stage), fn_, context.next_random_key(seed_));
  }
  std::string_view kind() const override { return "filter"; }
  bool passes_elements_on() const override { return true; }
  RandomKey fold_parameters(RandomKey key) const override {
    key = fold_in(key, "random filter");
    return seed_ ? fold_in(key, uint64_t(*seed_)) : key;
  }
  bool has_errors_of_elements() const override { return true; }
  bool draws_without_seed() const override { return !seed_; }
  bool chooses_by_value() const override { return true; }
  std::string_view moves_elements() const override { return "filter with random numbers keeps others in each pass"; }
  std::optional<int64_t> cardinality() const override {
    return input().cardinality() == 0 ? std::optional<int64_t>(0) : std::nullopt;
  }

 private:
  const RandomFilterFn fn_;
  const std::optional<int64_t> seed_;
};

}  // namespace

NodePtr make_key_node(NodePtr input, std::optional<int64_t> seed) {
  return std::make_shared<KeyNode>(std::move(input), seed);
}

MapFn with_key(RandomMapFn fn) {
  return [fn = std::move(fn)](Element element) -> Result<Element> {
    const Tensor key = element.features[kKeyName];
    element.features.erase(kKeyName);
    RandomStream random{RandomKey(key.as<int64_t>()[0])};
    return fn(std::move(element), random);
  };
}

NodePtr make_random_filter_node(NodePtr input, RandomFilterFn fn, std::optional<int64_t> seed) {
  return std::make_shared<RandomFilterNode>(std::move(input), std::move(fn), seed);
}

}  // namespace shoal::data
