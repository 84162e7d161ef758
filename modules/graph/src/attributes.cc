#include "shoal/graph/attributes.h"

#include "shoal/base/check.h"

namespace shoal {
namespace {

template <class T>
const T& get(const Attributes& attributes, std::string_view name) {
  const auto found = attributes.values().find(name);
  SHOAL_CHECK(found != attributes.values().end());
  const T* value = std::get_if<T>(&found->second);
  SHOAL_CHECK(value != nullptr);
  return *value;
}

}  // namespace

int64_t Attributes::get_int(std::string_view name) const { return get<int64_t>(*this, name); }
double Attributes::get_real(std::string_view name) const { return get<double>(*this, name); }
bool Attributes::get_bool(std::string_view name) const { return get<bool>(*this, name); }
const std::string& Attributes::get_string(std::string_view name) const { return get<std::string>(*this, name); }
const std::vector<int64_t>& Attributes::get_ints(std::string_view name) const {
  return get<std::vector<int64_t>>(*this, name);
}

}  // namespace shoal
