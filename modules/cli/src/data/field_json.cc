// SPDX-License-Identifier: Apache-2.0
#include "data/field_json.h"

#include <cmath>

#include "data/data_commands.h"
#include "shoal/json/values.h"

namespace shoal::cli {
namespace {

bool is_table(const OpenedFile& file) { return file.csv.has_value(); }

/// "3 to 5 bytes", "1 byte".
std::string range_text(int64_t least, int64_t most, const std::string& unit) {
  return (least == most ? "" : std::to_string(least) + " to ") + std::to_string(most) + " " + unit + (most == 1 ? "" : "s");
}

}  // namespace

int64_t missing_count(const FieldSummary& field, const OpenedFile& file, int64_t records) {
  const int64_t absent = file.records_have_all_fields ? records - field.records : 0;
  return absent + (field.is_text() ? 0 : field.numbers.none());
}

Json number_json(double number, const std::string& type) {
  constexpr double kExactMax = 9007199254740992;  // 2^53
  const bool whole = type.find("float") == std::string::npos;
  if (whole && std::abs(number) <= kExactMax && std::trunc(number) == number) return int64_t(number);
  return json::number_json(number);
}

Json field_json(const FieldSummary& field, const OpenedFile& file, int64_t records) {
  const int64_t missing = missing_count(field, file, records);
  const std::string type = field.type(is_table(file) && missing > 0);
  Json json{{"name", field.name}, {"type", type}, {"missing", missing}};
  if (field.is_list && field.all_shapes_equal) json["shape"] = field.shape;
  if (field.is_list) json["lists"] = field.lists;
  if (field.is_list) json["lengths"] = Json{{"min", field.length_least}, {"max", field.length_most}};
  if (!field.is_text() && field.numbers.count() > 0) {
    json["min"] = number_json(field.numbers.least(), type);
    json["max"] = number_json(field.numbers.most(), type);
  }
  if (field.is_text()) json["bytes"] = Json{{"min", field.texts.bytes_least()}, {"max", field.texts.bytes_most()}};
  return json;
}

std::string field_text(const FieldSummary& field, const OpenedFile& file, int64_t records) {
  const int64_t missing = missing_count(field, file, records);
  std::string text = field.type(is_table(file) && missing > 0);
  if (field.is_list && field.all_shapes_equal) {
    text += " " + shape_text(field.shape);
  } else if (field.is_list) {
    text += ", lists of " + range_text(field.length_least, field.length_most, "value");
    // In JSON lines a field may be a list in one record and a single value in another.
    if (field.lists < field.records)
      text += " in " + std::to_string(field.lists) + " of " + range_text(field.records, field.records, "record");
  }
  if (missing > 0) text += ", " + std::to_string(missing) + " missing";
  if (!field.is_text() && field.numbers.count() > 0) {
    text += ", " + number_text(field.numbers.least()) + " to " + number_text(field.numbers.most());
  }
  if (field.is_text()) {
    text += ", " + range_text(int64_t(field.texts.bytes_least()), int64_t(field.texts.bytes_most()), "byte");
  }
  return text;
}

}  // namespace shoal::cli
