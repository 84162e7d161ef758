// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "definition.h"
#include "shoal/graph/ops.h"
#include "shoal/graph/text_ids.h"

namespace shoal::columns {
namespace {

std::string crossed_name(const std::vector<CrossKey>& keys) {
  std::string name;
  for (const CrossKey& key : keys) name += (name.empty() ? "" : "_X_") + key.name();
  return name;
}

class Crossed final : public Definition, public Categories {
 public:
  Crossed(std::vector<CrossKey> keys, CrossedOptions options)
      : Definition(crossed_name(keys)), keys_(std::move(keys)), options_(std::move(options)) {}
  std::string kind() const override { return "crossed"; }
  std::vector<std::string> sources() const override {
    std::vector<std::string> names;
    for (const CrossKey& key : keys_) names.push_back(key.name());
    return names;
  }
  const Categories* categories() const override { return this; }
  int64_t count() const override { return options_.buckets; }
  bool may_be_crossed() const override { return false; }
  Ids ids(Inputs& inputs) const override {
    const std::vector<std::string> names = sources();
    inputs.column_means(name(), {.kind = "crossed",
                                 .values = {{"buckets", std::to_string(options_.buckets)}},
                                 .lists = {{"keys", MeaningList::of(names)}}});
    const TextEncoding whole_hashes{.missing = options_.missing};
    std::vector<Value> lists;
    for (const CrossKey& key : keys_) {
      lists.push_back(key.column() ? categories_of(*key.column(), name()).ids(inputs).ids
                                   : inputs.list_of(text_ids(inputs.feature(key.name(), name()), whole_hashes), name()));
    }
    return {ops::cross_ids(lists, options_.buckets), {}};
  }

 private:
  std::vector<CrossKey> keys_;
  CrossedOptions options_;
};

}  // namespace

Column crossed(std::vector<CrossKey> keys, CrossedOptions options) {
  std::ranges::sort(keys, {}, &CrossKey::name);
  const std::string name = crossed_name(keys);
  if (keys.size() < 2) raise(invalid_argument("crossed: column \"" + name + "\" needs two keys or more"));
  check_least(name, "buckets", options.buckets, 1);
  for (const CrossKey& key : keys) {
    if (!key.column() || categories_of(*key.column(), "crossed").may_be_crossed()) continue;
    raise(invalid_argument("crossed: column \"" + key.name() + "\" is " + key.column()->definition().kind() +
                           "; cross the features that it is made of, by their keys"));
  }
  if (const auto twice = std::ranges::adjacent_find(keys, {}, &CrossKey::name); twice != keys.end()) {
    raise(invalid_argument("crossed: \"" + twice->name() + "\" is crossed with itself"));
  }
  return Column(std::make_shared<Crossed>(std::move(keys), std::move(options)));
}

CrossKey::CrossKey(const char* key) : key_(key) {}
CrossKey::CrossKey(std::string key) : key_(std::move(key)) {}
CrossKey::CrossKey(Column column) : column_(std::move(column)) {}
const std::string& CrossKey::name() const { return column_ ? column_->name() : key_; }

}  // namespace shoal::columns
