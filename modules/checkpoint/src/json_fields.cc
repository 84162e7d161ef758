#include "json_fields.h"

#include <limits>

#include "checksum.h"

namespace shoal::checkpoint {
namespace {

/// The value under `key` if `wanted` likes it.
template <class Predicate>
Result<const Json*> field(const Json& object, const char* key, const char* type, Predicate wanted) {
  const auto at = object.is_object() ? object.find(key) : object.end();
  if (!object.is_object() || at == object.end()) return data_loss(std::string("field '") + key + "' is missing");
  if (!wanted(*at)) return data_loss(std::string("field '") + key + "' is not " + type);
  return &*at;
}

}  // namespace

Result<Json> parse_object(std::string_view text) {
  Json json = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded() || !json.is_object()) return data_loss("not a JSON object");
  return json;
}

std::string json_string(std::string_view text) {
  return Json(std::string(text)).dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool survives_json(std::string_view text) {
  const std::string literal = json_string(text);
  const Json back = Json::parse(literal, nullptr, false);
  return back.is_string() && back.get_ref<const std::string&>() == text;
}

Result<std::string> string_field(const Json& object, const char* key) {
  SHOAL_TRY(const Json* value, field(object, key, "a string", [](const Json& j) { return j.is_string(); }));
  return value->get_ref<const std::string&>();
}

Result<uint64_t> uint_field(const Json& object, const char* key) {
  SHOAL_TRY(const Json* value,
            field(object, key, "a whole number >= 0", [](const Json& j) { return j.is_number_unsigned(); }));
  return value->get<uint64_t>();
}

Result<int64_t> int_field(const Json& object, const char* key) {
  SHOAL_TRY(const uint64_t value, uint_field(object, key));
  if (value > uint64_t(std::numeric_limits<int64_t>::max())) {
    return data_loss(std::string("field '") + key + "' is too large");
  }
  return int64_t(value);
}

Result<double> number_field(const Json& object, const char* key) {
  SHOAL_TRY(const Json* value, field(object, key, "a number", [](const Json& j) { return j.is_number(); }));
  return value->get<double>();
}

Result<uint64_t> checksum_field(const Json& object, const char* key) {
  SHOAL_TRY(const std::string text, string_field(object, key));
  const std::optional<uint64_t> checksum = from_hex(text);
  if (!checksum) return data_loss(std::string("field '") + key + "' is not 16 hexadecimal digits");
  return *checksum;
}

Result<const Json*> array_field(const Json& object, const char* key) {
  return field(object, key, "an array", [](const Json& j) { return j.is_array(); });
}

Result<const Json*> object_field(const Json& object, const char* key) {
  return field(object, key, "an object", [](const Json& j) { return j.is_object(); });
}

}  // namespace shoal::checkpoint
