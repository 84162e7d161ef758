// SPDX-License-Identifier: Apache-2.0
#include "shoal/json/fields.h"

#include "shoal/base/utf8.h"

namespace shoal::json {

bool is_utf8(std::string_view text) { return !find_no_utf8(text); }

std::string as_utf8(const std::string& text) {
  if (is_utf8(text)) return text;
  const Result<Json> back = parse_value(string_text(text));
  return back && back->is_string() ? back->get<std::string>() : std::string();
}

Error must_be(std::string_view name, std::string_view wanted) {
  return data_loss("\"" + std::string(name) + "\" must be " + std::string(wanted));
}

Result<std::string> string_of(const Json& json, std::string_view name) {
  if (!json.is_string()) return must_be(name, "a string");
  return json.get_ref<const std::string&>();
}

Result<bool> bool_of(const Json& json, std::string_view name) {
  if (!json.is_boolean()) return must_be(name, "true or false");
  return json.get<bool>();
}

Result<double> number_of(const Json& json, std::string_view name) {
  if (!json.is_number()) return must_be(name, "a number");
  return json.get<double>();
}

Result<const Json*> list_of(const Json& json, std::string_view name) {
  if (!json.is_array()) return must_be(name, "a list");
  return &json;
}

Result<const Json*> object_of(const Json& json, std::string_view name) {
  if (!json.is_object()) return must_be(name, "an object");
  return &json;
}

Result<const Json*> element(const Json& list, size_t index, std::string_view name) {
  if (!list.is_array() || index >= list.size())
    return must_be(name, "a list of at least " + std::to_string(index + 1) + " elements");
  return &list[index];
}

Result<const Json*> member(const Json& object, std::string_view name) {
  if (!object.is_object()) return data_loss("an object was expected where \"" + std::string(name) + "\" is looked for");
  const auto at = object.find(name);
  if (at == object.end()) return data_loss("\"" + std::string(name) + "\" is missing");
  return &*at;
}

Result<std::string> string_member(const Json& object, std::string_view name) {
  SHOAL_TRY(const Json* value, member(object, name));
  return string_of(*value, name);
}

Result<bool> bool_member(const Json& object, std::string_view name) {
  SHOAL_TRY(const Json* value, member(object, name));
  return bool_of(*value, name);
}

Result<double> number_member(const Json& object, std::string_view name) {
  SHOAL_TRY(const Json* value, member(object, name));
  return number_of(*value, name);
}

Result<const Json*> list_member(const Json& object, std::string_view name) {
  SHOAL_TRY(const Json* value, member(object, name));
  return list_of(*value, name);
}

Result<const Json*> object_member(const Json& object, std::string_view name) {
  SHOAL_TRY(const Json* value, member(object, name));
  return object_of(*value, name);
}

}  // namespace shoal::json
