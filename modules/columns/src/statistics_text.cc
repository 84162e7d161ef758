// SPDX-License-Identifier: Apache-2.0
// Converts statistics to and from text, so that RunConfig::learned() can store them (shoal/base/learned.h).
#include "shoal/columns/statistics.h"
#include "shoal/json/exact.h"
#include "shoal/json/fields.h"
#include "statistics_parts.h"

namespace shoal {
namespace {

using columns::NumberStatistics;
using columns::TextStatistics;
using json::Json;

Json number_json(const NumberStatistics& of) {
  return {{"count", of.count},
          {"missing", of.missing},
          {"mean", json::exact_number(of.mean)},
          {"stddev", json::exact_number(of.stddev)},
          {"min", json::exact_number(of.min)},
          {"max", json::exact_number(of.max)}};
}

Result<double> exact_member(const Json& object, std::string_view name) {
  SHOAL_TRY(const Json* value, json::member(object, name));
  return json::exact_number_of(*value, name);
}

Result<NumberStatistics> number_of(const Json& object) {
  NumberStatistics of;
  SHOAL_TRY(of.count, json::whole_member<int64_t>(object, "count", 0));
  SHOAL_TRY(of.missing, json::whole_member<int64_t>(object, "missing", 0));
  SHOAL_TRY(of.mean, exact_member(object, "mean"));
  SHOAL_TRY(of.stddev, exact_member(object, "stddev"));
  SHOAL_TRY(of.min, exact_member(object, "min"));
  SHOAL_TRY(of.max, exact_member(object, "max"));
  return of;
}

Json text_json(const TextStatistics& of) {
  Json counts = Json::array();
  for (const auto& [text, count] : of.counts) counts.push_back({json::exact_text(text), count});
  return {{"count", of.count}, {"missing", of.missing}, {"counts", std::move(counts)}};
}

Result<TextStatistics> text_of(const Json& object) {
  TextStatistics of;
  SHOAL_TRY(of.count, json::whole_member<int64_t>(object, "count", 0));
  SHOAL_TRY(of.missing, json::whole_member<int64_t>(object, "missing", 0));
  SHOAL_TRY(const Json* counts, json::list_member(object, "counts"));
  for (const Json& pair : *counts) {
    SHOAL_TRY(const Json* text, json::element(pair, 0, "counts"));
    SHOAL_TRY(const Json* count, json::element(pair, 1, "counts"));
    SHOAL_TRY(std::string word, json::exact_text_of(*text, "counts"));
    SHOAL_TRY(of.counts[std::move(word)], json::whole_of<int64_t>(*count, "counts", 1));
  }
  return of;
}

/// Returns "2 texts of district that the run does not know: "north", "south"", with at most five texts.
std::string new_texts(const std::string& name, const TextStatistics& kept, const TextStatistics& found) {
  constexpr int64_t kNamed = 5;
  int64_t count = 0;
  std::string words;
  for (const auto& [text, times] : found.counts) {
    if (kept.counts.contains(text) || ++count > kNamed) continue;
    words += (words.empty() ? "\"" : ", \"") + text + "\"";
  }
  if (count == 0) return {};
  return std::to_string(count) + (count == 1 ? " text" : " texts") + (name.empty() ? "" : " of " + name) +
         " that the run does not know: " + words + (count > kNamed ? ", ..." : "");
}

}  // namespace

struct StatisticsText {
  using Part = columns::Statistics::Part;

  static Json part_json(const Part& part) {
    Json numbers = Json::object(), texts = Json::object();
    for (const auto& [name, of] : part.numbers) numbers[name] = number_json(of);
    for (const auto& [name, of] : part.texts) texts[name] = text_json(of);
    return {{"numbers", std::move(numbers)}, {"texts", std::move(texts)}};
  }
  static Result<Part> part_of(const Json& object, std::string_view name) {
    Part part;
    SHOAL_TRY(const Json* whole, json::object_member(object, name));
    SHOAL_TRY(const Json* numbers, json::object_member(*whole, "numbers"));
    for (const auto& [feature, value] : numbers->items()) {
      SHOAL_TRY(part.numbers[feature], number_of(value));
    }
    SHOAL_TRY(const Json* texts, json::object_member(*whole, "texts"));
    for (const auto& [feature, value] : texts->items()) {
      SHOAL_TRY(part.texts[feature], text_of(value));
    }
    return part;
  }
  static std::string news_of(const Part& kept, const Part& found) {
    std::string news;
    for (const auto& [name, of] : found.texts) {
      const auto before = kept.texts.find(name);
      if (before == kept.texts.end()) {
        news += (news.empty() ? "" : "; ") + ("a feature of text " + name) + ", which the run does not know";
        continue;
      }
      const std::string more = new_texts(name, before->second, of);
      if (!more.empty()) news += (news.empty() ? "" : "; ") + more;
    }
    for (const auto& [name, of] : found.numbers) {
      if (kept.numbers.contains(name)) continue;
      news += (news.empty() ? "" : "; ") + ("a feature of numbers " + name) + ", which the run does not know";
    }
    return news;
  }
  static std::string encode(const columns::Statistics& of) {
    return json::text_of(Json{{"features", part_json(of.features())}, {"labels", part_json(of.labels())}});
  }
  static Result<columns::Statistics> decode(std::string_view text) {
    SHOAL_TRY(const Json object, json::parse_object(text));
    auto parts = std::make_shared<columns::Statistics::Parts>();
    SHOAL_TRY(parts->features, part_of(object, "features"));
    SHOAL_TRY(parts->labels, part_of(object, "labels"));
    columns::Statistics of;
    of.parts_ = std::move(parts);
    return of;
  }
  static std::string news(const columns::Statistics& kept, const columns::Statistics& found) {
    const std::string features = news_of(kept.features(), found.features()),
                      labels = news_of(kept.labels(), found.labels());
    return features + (features.empty() || labels.empty() ? "" : "; ") + labels;
  }
};

std::string Learned<columns::Statistics>::encode(const columns::Statistics& value) { return StatisticsText::encode(value); }
Result<columns::Statistics> Learned<columns::Statistics>::decode(std::string_view json) {
  return StatisticsText::decode(json);
}
std::string Learned<columns::Statistics>::news(const columns::Statistics& kept, const columns::Statistics& found) {
  return StatisticsText::news(kept, found);
}

}  // namespace shoal
