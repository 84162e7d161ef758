// SPDX-License-Identifier: Apache-2.0
#include "shoal/graph/attributes.h"

#include "shoal/base/error.h"
#include "shoal/base/forever.h"
#include "shoal/base/names_text.h"

namespace shoal {
namespace {

std::string_view type_of(const Attribute& attribute) {
  struct Name {
    std::string_view operator()(int64_t) const { return "an integer"; }
    std::string_view operator()(double) const { return "a real"; }
    std::string_view operator()(bool) const { return "a bool"; }
    std::string_view operator()(const std::string&) const { return "a text"; }
    std::string_view operator()(const std::vector<int64_t>&) const { return "a list of integers"; }
  };
  return std::visit(Name(), attribute);
}

std::string names_of(const Attributes& attributes) {
  const std::string names = comma_separated(attributes.values(), [](const auto& entry) { return entry.first; });
  return names.empty() ? "none" : names;
}

/// Returns the attribute `name`. If it is missing or has another type, raises an error and does not abort, since kernels
/// and rules of users' own ops call this function, too.
template <class T>
const T& get(const Attributes& attributes, std::string_view name) {
  const auto found = attributes.values().find(name);
  if (found == attributes.values().end()) {
    raise(invalid_argument("attribute \"" + std::string(name) + "\" is needed, but the node has: " + names_of(attributes)));
  }
  if (const T* value = std::get_if<T>(&found->second)) return *value;
  raise(type_mismatch("attribute \"" + std::string(name) + "\" is " + std::string(type_of(found->second)) +
                      ", but is needed as " + std::string(type_of(Attribute(T())))));
}

}  // namespace

Attributes::Attributes(std::initializer_list<std::pair<const std::string, Attribute>> values)
    : values_(std::make_shared<const Values>(values)) {}

bool Attributes::has(std::string_view name) const { return values_ && values_->find(name) != values_->end(); }

void Attributes::set(std::string name, Attribute value) {
  auto values = std::make_shared<Values>(this->values());
  values->insert_or_assign(std::move(name), std::move(value));
  values_ = std::move(values);
}

const Attributes::Values& Attributes::values() const {
  static const Values& none = forever(Values());
  return values_ ? *values_ : none;
}

bool operator==(const Attributes& a, const Attributes& b) { return a.values_ == b.values_ || a.values() == b.values(); }

int64_t Attributes::get_int(std::string_view name, int64_t otherwise) const {
  return has(name) ? get_int(name) : otherwise;
}
std::vector<int64_t> Attributes::get_ints(std::string_view name, std::vector<int64_t> otherwise) const {
  return has(name) ? get_ints(name) : std::move(otherwise);
}
int64_t Attributes::get_int(std::string_view name) const { return get<int64_t>(*this, name); }
double Attributes::get_real(std::string_view name) const { return get<double>(*this, name); }
bool Attributes::get_bool(std::string_view name) const { return get<bool>(*this, name); }
const std::string& Attributes::get_string(std::string_view name) const { return get<std::string>(*this, name); }
const std::vector<int64_t>& Attributes::get_ints(std::string_view name) const {
  return get<std::vector<int64_t>>(*this, name);
}

}  // namespace shoal
