// SPDX-License-Identifier: Apache-2.0
#include "shoal/nn/value_map.h"

#include <algorithm>

#include "shoal/base/names_text.h"

namespace shoal::nn {

ValueMap::ValueMap(Value value) {
  if (value.valid()) set("", value);
}

ValueMap::ValueMap(std::initializer_list<std::pair<std::string, Value>> values) {
  for (const auto& [name, value] : values) set(name, value);
}

size_t ValueMap::size() const { return values_.size(); }
bool ValueMap::is_single() const { return size() == 1 && values_[0].first.empty(); }
const std::pair<std::string, Value>* ValueMap::begin() const { return values_.data(); }
const std::pair<std::string, Value>* ValueMap::end() const { return values_.data() + values_.size(); }

void ValueMap::set(std::string name, Value value) {
  const auto at = std::ranges::lower_bound(values_, name, {}, &std::pair<std::string, Value>::first);
  if (at != values_.end() && at->first == name) {
    at->second = value;
  } else {
    values_.emplace(at, std::move(name), value);
  }
}

const Value* ValueMap::find(std::string_view name) const {
  const auto first_name = [](const std::pair<std::string, Value>& named) -> std::string_view { return named.first; };
  const auto at = std::ranges::lower_bound(values_, name, {}, first_name);
  return at == values_.end() || at->first != name ? nullptr : &at->second;
}

Value ValueMap::operator[](std::string_view name) const {
  if (const Value* value = find(name)) return *value;
  raise(invalid_argument("no value named \"" + std::string(name) + "\"; there are: " + names()));
}

Value ValueMap::single() const {
  if (is_single()) return values_[0].second;
  if (empty()) {
    raise(
        invalid_argument("expected one value, there is none; labels are missing where a model only predicts (its mode "
                         "tells), and where the input names no labels"));
  }
  raise(invalid_argument("expected one value, but they have names: " + names() + "; choose one by its name"));
}

std::string ValueMap::names() const { return names_text(values_); }

}  // namespace shoal::nn
