#pragma once
/// Typed fields of JSON objects that come from files: absent or of another type is DataLoss, never an exception.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "shoal/base/result.h"

namespace shoal::checkpoint {

using Json = nlohmann::json;

/// DataLoss unless `text` is one JSON object.
Result<Json> parse_object(std::string_view text);
/// `text` as a JSON string literal, quotes included. Bytes that are no UTF-8 become U+FFFD.
std::string json_string(std::string_view text);
/// True if json_string() keeps every byte of `text`.
bool survives_json(std::string_view text);

/// DataLoss names `key`.
Result<std::string> string_field(const Json& object, const char* key);
Result<int64_t> int_field(const Json& object, const char* key);       ///< >= 0
Result<uint64_t> uint_field(const Json& object, const char* key);
Result<double> number_field(const Json& object, const char* key);
Result<uint64_t> checksum_field(const Json& object, const char* key);
Result<const Json*> array_field(const Json& object, const char* key);
Result<const Json*> object_field(const Json& object, const char* key);

}  // namespace shoal::checkpoint
