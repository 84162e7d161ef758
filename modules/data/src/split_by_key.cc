// SPDX-License-Identifier: Apache-2.0
// Dataset::split with a key. Which of the two results an element belongs to depends only on one of its features, the key,
// and not on its position.
#include <bit>
#include <charconv>
#include <cmath>
#include <optional>

#include "nodes.h"
#include "one_input_stage.h"

namespace shoal::data {
namespace {

struct KeyRule {
  std::string key;
  double held_out = 0;
  uint64_t seed = 0;
  bool wants_held_out = false;

  bool takes(std::string_view text) const {
    return (double(hash64(text, seed) >> 11) * 0x1p-53 < held_out) == wants_held_out;
  }
};

template <class T>
std::string_view digits_of(T number, std::span<char> into) {
  const auto written = std::to_chars(into.data(), into.data() + into.size(), number);
  return {into.data(), size_t(written.ptr - into.data())};
}

/// Returns the text to hash: a number has the same text in every type that holds it. None for a missing key.
std::optional<std::string_view> text_of_key(const Column& key, std::span<char> into) {
  const auto number = [&key](auto like) { return *reinterpret_cast<const decltype(like)*>(key.data); };
  std::string_view text;
  switch (key.dtype) {
    case DType::kString: text = *key.strings; break;
    case DType::kInt64: text = digits_of(number(int64_t()), into); break;
    case DType::kInt32: text = digits_of(number(int32_t()), into); break;
    case DType::kUInt8: text = digits_of(int(number(uint8_t())), into); break;
    default: {
      const float value = number(float());
      if (!std::isnan(value)) text = value == 0 ? "0" : digits_of(value, into);  // -0 is 0.
    }
  }
  return text.empty() ? std::nullopt : std::optional(text);
}

bool may_be_key(DType dtype) {
  return dtype == DType::kString || dtype == DType::kInt64 || dtype == DType::kInt32 || dtype == DType::kUInt8 ||
         dtype == DType::kFloat32;
}

class SplitByKeyStage final : public OneInputStage {
 public:
  SplitByKeyStage(StageContext& context, std::unique_ptr<Stage> input, const KeyRule& rule)
      : OneInputStage(std::move(input)), context_(context), rule_(rule) {}

  Result<bool> next(Item& item) override {
    for (;;) {
      SHOAL_TRY_VOID(check_stopping(context_));
      SHOAL_TRY(const bool more, input_->next(item));
      if (!more) return false;
      Result<bool> taken = takes(item);
      if (!taken) return in_element(std::move(taken).error(), item);
      if (*taken) return true;
    }
  }

 private:
  Result<bool> takes(const Item& item) {
    SHOAL_TRY(const Column key, find_key(item));
    if (!(key.shape == Shape{})) {
      return invalid_argument("split: the key \"" + rule_.key + "\" is " + std::string(to_string(key.dtype)) + " " +
                              to_string(key.shape) +
                              ", and one element has one key; if elements are batches, call split before batch");
    }
    if (!may_be_key(key.dtype)) {
      return invalid_argument("split: the key \"" + rule_.key + "\" is " + std::string(to_string(key.dtype)) +
                              "; choose a feature of text, integers or float32");
    }
    char space[64];
    const std::optional<std::string_view> text = text_of_key(key, space);
    if (text) return rule_.takes(*text);
    return data_loss("split: the key \"" + rule_.key +
                     "\" is missing, so that nobody can tell whether the element is held out; "
                     "give it one, or pass over such elements by a filter() before split");
  }

  Result<Column> find_key(const Item& item) {
    if (at_ < item.features()) {  // Looks first where the previous element had the key: most often it is there again.
      if (const Column key = item.column(at_); *key.name == rule_.key) return key;
    }
    std::string names;
    for (at_ = 0; at_ < item.features(); ++at_) {
      const Column column = item.column(at_);
      if (*column.name == rule_.key) return column;
      names += (names.empty() ? "" : ", ") + (column.name->empty() ? "one without a name" : *column.name);
    }
    return invalid_argument("split: there is no feature \"" + rule_.key + "\" to split by; the features are: " + names +
                            "; a column that is unused, or a label, is none");
  }

  Error in_element(Error error, const Item& item) const {
    const std::string read_at = context_.place_of(item.record());
    return read_at.empty() ? std::move(error) : std::move(error).with_context(read_at);
  }

  StageContext& context_;
  const KeyRule& rule_;
  size_t at_ = 0;  // The key's place among the features of the last element.
};

class SplitByKeyNode final : public Node {
 public:
  SplitByKeyNode(NodePtr input, KeyRule rule) : Node({std::move(input)}), rule_(std::move(rule)) {}
  Result<std::unique_ptr<Stage>> make_stage(StageContext& context) const override {
    SHOAL_TRY(std::unique_ptr<Stage> stage, input().stage(context));
    return std::make_unique<SplitByKeyStage>(context, std::move(stage), rule_);
  }
  std::string_view kind() const override { return "split"; }
  bool passes_elements_on() const override { return true; }
  RandomKey fold_parameters(RandomKey key) const override {
    key = fold_in(fold_in(fold_in(key, "split by key"), rule_.key), std::bit_cast<uint64_t>(rule_.held_out));
    return fold_in(fold_in(key, rule_.seed), uint64_t(rule_.wants_held_out));
  }
  std::optional<int64_t> cardinality() const override {
    return input().cardinality() == 0 ? std::optional<int64_t>(0) : std::nullopt;
  }

 private:
  const KeyRule rule_;
};

}  // namespace

NodePtr make_split_by_key_node(NodePtr input, std::string key, double held_out, uint64_t seed, bool wants_held_out) {
  return std::make_shared<SplitByKeyNode>(std::move(input), KeyRule{std::move(key), held_out, seed, wants_held_out});
}

}  // namespace shoal::data
