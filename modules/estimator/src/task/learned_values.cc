// SPDX-License-Identifier: Apache-2.0
// Converts values that a run learns from its data and stores, such as vocabularies and boundaries, to JSON and back
// (shoal/estimator/learned.h).
#include <algorithm>
#include <set>

#include "shoal/estimator/learned.h"
#include "shoal/json/exact.h"
#include "shoal/json/fields.h"

namespace shoal {
namespace {

using json::Json;

constexpr std::string_view kName = "value";  // The name of the value in error sentences.

Json list_of_numbers(const std::vector<double>& numbers) {
  Json list = Json::array();
  for (const double number : numbers) list.push_back(json::exact_number(number));
  return list;
}

Result<std::vector<double>> numbers_of(const Json& list, std::string_view name) {
  SHOAL_TRY_VOID(json::list_of(list, name));
  std::vector<double> numbers;
  for (const Json& item : list) {
    SHOAL_TRY(numbers.emplace_back(), json::exact_number_of(item, name));
  }
  return numbers;
}

}  // namespace

std::string Learned<std::vector<std::string>>::encode(const std::vector<std::string>& value) {
  Json list = Json::array();
  for (const std::string& text : value) list.push_back(json::exact_text(text));
  return json::text_of(list);
}

Result<std::vector<std::string>> Learned<std::vector<std::string>>::decode(std::string_view json) {
  SHOAL_TRY(const Json list, json::parse_value(json));
  SHOAL_TRY_VOID(json::list_of(list, kName));
  std::vector<std::string> value;
  for (const Json& item : list) {
    SHOAL_TRY(value.emplace_back(), json::exact_text_of(item, kName));
  }
  return value;
}

std::string Learned<std::vector<std::string>>::news(const std::vector<std::string>& kept,
                                                    const std::vector<std::string>& found) {
  constexpr size_t kNamed = 5;
  const std::set<std::string_view> known(kept.begin(), kept.end());
  size_t count = 0;
  std::string words;
  for (const std::string& text : found) {
    if (known.contains(text) || ++count > kNamed) continue;
    words += (words.empty() ? "\"" : ", \"") + text + "\"";
  }
  if (count == 0) return {};
  return std::to_string(count) + (count == 1 ? " text" : " texts") + " that the run does not know: " + words +
         (count > kNamed ? ", ..." : "");
}

std::string Learned<std::vector<double>>::encode(const std::vector<double>& value) {
  return json::text_of(list_of_numbers(value));
}

Result<std::vector<double>> Learned<std::vector<double>>::decode(std::string_view json) {
  SHOAL_TRY(const Json list, json::parse_value(json));
  return numbers_of(list, kName);
}

// A list of [name, numbers], since a name may have any bytes, but a key in JSON must be UTF-8.
std::string Learned<std::map<std::string, std::vector<double>>>::encode(
    const std::map<std::string, std::vector<double>>& value) {
  Json list = Json::array();
  for (const auto& [name, numbers] : value) {
    list.push_back(Json::array({json::exact_text(name), list_of_numbers(numbers)}));
  }
  return json::text_of(list);
}

Result<std::map<std::string, std::vector<double>>> Learned<std::map<std::string, std::vector<double>>>::decode(
    std::string_view json) {
  SHOAL_TRY(const Json list, json::parse_value(json));
  SHOAL_TRY_VOID(json::list_of(list, kName));
  std::map<std::string, std::vector<double>> value;
  for (const Json& item : list) {
    SHOAL_TRY_VOID(json::list_of(item, kName));
    if (item.size() != 2) return data_loss("value: each item must be a name and a list of numbers");
    SHOAL_TRY(std::string name, json::exact_text_of(item[0], kName));
    SHOAL_TRY(value[std::move(name)], numbers_of(item[1], kName));
  }
  return value;
}

std::string Learned<double>::encode(const double& value) { return json::text_of(json::exact_number(value)); }
Result<double> Learned<double>::decode(std::string_view json) {
  SHOAL_TRY(const Json number, json::parse_value(json));
  return json::exact_number_of(number, kName);
}

std::string Learned<int64_t>::encode(const int64_t& value) { return std::to_string(value); }
Result<int64_t> Learned<int64_t>::decode(std::string_view json) {
  SHOAL_TRY(const Json number, json::parse_value(json));
  return json::whole_of<int64_t>(number, kName);
}

std::string Learned<std::string>::encode(const std::string& value) { return json::text_of(json::exact_text(value)); }
Result<std::string> Learned<std::string>::decode(std::string_view json) {
  SHOAL_TRY(const Json text, json::parse_value(json));
  return json::exact_text_of(text, kName);
}

}  // namespace shoal
