// SPDX-License-Identifier: Apache-2.0
#include "shoal/estimator/params.h"

#include <algorithm>

#include "shoal/base/error.h"
#include "shoal/base/names_text.h"

namespace shoal {
namespace {

template <class T>
const T& as(std::string_view name, const Params::Item& item, std::string_view type) {
  if (const T* value = std::get_if<T>(&item)) return *value;
  raise(type_mismatch("param " + std::string(name) + " is no " + std::string(type)));
}

using Item = Params::Item;

std::shared_ptr<const Item> made(Item item) { return std::make_shared<const Item>(std::move(item)); }

}  // namespace

/// The params, ordered by name.
struct Params::Items {
  std::vector<Pair> pairs;
};

Params::Entry::Entry(std::string n, const char* v) : name(std::move(n)), item(made(std::string(v))) {}
Params::Entry::Entry(std::string n, std::string_view v) : name(std::move(n)), item(made(std::string(v))) {}
Params::Entry::Entry(std::string n, std::string v) : name(std::move(n)), item(made(std::move(v))) {}
Params::Entry::Entry(std::string n, std::initializer_list<const char*> v)
    : name(std::move(n)), item(made(std::vector<std::string>(v.begin(), v.end()))) {}
Params::Entry::Entry(std::string n, std::initializer_list<std::string_view> v)
    : name(std::move(n)), item(made(std::vector<std::string>(v.begin(), v.end()))) {}
Params::Entry::Entry(std::string n, std::vector<std::string> v) : name(std::move(n)), item(made(std::move(v))) {}
Params::Entry::Entry(std::string n, Item v) : name(std::move(n)), item(made(std::move(v))) {}

std::shared_ptr<const Item> Params::of(bool value) { return made(value); }
std::shared_ptr<const Item> Params::of(int64_t value) { return made(value); }
std::shared_ptr<const Item> Params::of(double value) { return made(value); }
std::shared_ptr<const Item> Params::of(std::vector<int64_t> values) { return made(std::move(values)); }
std::shared_ptr<const Item> Params::of(std::vector<double> values) { return made(std::move(values)); }

Params::Params(std::initializer_list<Entry> entries) {
  for (const Entry& entry : entries) put(entry);
}

void Params::put(Entry entry) {
  auto items = items_ ? std::make_shared<Items>(*items_) : std::make_shared<Items>();
  const auto place = std::ranges::lower_bound(items->pairs, entry.name, {}, &Pair::first);
  if (place != items->pairs.end() && place->first == entry.name) {
    place->second = *entry.item;
  } else {
    items->pairs.emplace(place, std::move(entry.name), *entry.item);
  }
  items_ = std::move(items);
}

const Params::Pair* Params::begin() const { return items_ ? items_->pairs.data() : nullptr; }
const Params::Pair* Params::end() const { return items_ ? items_->pairs.data() + items_->pairs.size() : nullptr; }

const Item* Params::look_up(std::string_view name) const {
  const Pair* found =
      std::lower_bound(begin(), end(), name, [](const Pair& pair, std::string_view n) { return pair.first < n; });
  return found != end() && found->first == name ? &found->second : nullptr;
}

void Params::raise_too_large(std::string_view name, uint64_t value) {
  raise(invalid_argument("param " + std::string(name) + " is " + std::to_string(value) + ", and integers go to " +
                         std::to_string(INT64_MAX)));
}

const Params::Item& Params::find(std::string_view name) const {
  if (const Item* found = look_up(name)) return *found;
  const std::string names = comma_separated(*this, &Pair::first);
  raise(not_found("no param " + std::string(name) + "; there are: " + (names.empty() ? "none" : names)));
}

int64_t Params::get_int(std::string_view name) const { return as<int64_t>(name, find(name), "integer"); }
bool Params::get_bool(std::string_view name) const { return as<bool>(name, find(name), "flag (true or false)"); }
const std::string& Params::get_string(std::string_view name) const { return as<std::string>(name, find(name), "text"); }
const std::vector<int64_t>& Params::get_ints(std::string_view name) const {
  return as<std::vector<int64_t>>(name, find(name), "list of integers");
}
const std::vector<std::string>& Params::get_strings(std::string_view name) const {
  return as<std::vector<std::string>>(name, find(name), "list of texts");
}
std::vector<double> Params::get_reals(std::string_view name) const {
  const Item& item = find(name);
  if (const auto* integers = std::get_if<std::vector<int64_t>>(&item)) return {integers->begin(), integers->end()};
  return as<std::vector<double>>(name, item, "list of numbers");
}
double Params::get_real(std::string_view name) const {
  const Item& item = find(name);
  if (const int64_t* value = std::get_if<int64_t>(&item)) return double(*value);
  return as<double>(name, item, "number");
}

int64_t Params::get_int(std::string_view name, int64_t otherwise) const { return has(name) ? get_int(name) : otherwise; }
double Params::get_real(std::string_view name, double otherwise) const { return has(name) ? get_real(name) : otherwise; }
bool Params::get_bool(std::string_view name, bool otherwise) const { return has(name) ? get_bool(name) : otherwise; }
std::string Params::get_string(std::string_view name, std::string otherwise) const {
  return has(name) ? get_string(name) : std::move(otherwise);
}
std::vector<int64_t> Params::get_ints(std::string_view name, std::vector<int64_t> otherwise) const {
  return has(name) ? get_ints(name) : std::move(otherwise);
}
std::vector<double> Params::get_reals(std::string_view name, std::vector<double> otherwise) const {
  return has(name) ? get_reals(name) : std::move(otherwise);
}
std::vector<std::string> Params::get_strings(std::string_view name, std::vector<std::string> otherwise) const {
  return has(name) ? get_strings(name) : std::move(otherwise);
}

}  // namespace shoal
