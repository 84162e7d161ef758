// SPDX-License-Identifier: Apache-2.0
#include "flag_lists.h"

#include <algorithm>

#include "shoal/base/format.h"
#include "shoal/base/names_text.h"
#include "shoal/base/nearest_text.h"
#include "shoal/base/number_text.h"

namespace shoal {
namespace {

constexpr std::string_view kBlanks = " \t";
constexpr std::string_view kQuoteHint = "; put the element in double quotes, and write each quote in it twice";

// The function is not named `quoted`: if a header of the library includes <iomanip>, a call with a std::string would
// choose std::quoted instead.
std::string in_quotes(std::string_view text) { return '"' + std::string(text) + '"'; }

/// Reads the elements of a list's text one after another.
class ListReader {
 public:
  ListReader(std::string_view text, bool of_texts) : text_(text), rest_(text), of_texts_(of_texts) {}

  Result<std::vector<std::string>> elements() {
    std::vector<std::string> all;
    if (text_.find_first_not_of(kBlanks) == std::string_view::npos) return all;
    do {
      ++place_;
      skip_blanks();
      SHOAL_TRY(std::string element, rest_.starts_with('"') ? quoted_element() : bare_element());
      all.push_back(std::move(element));
    } while (take_comma());
    return all;
  }
  /// Makes the error for an element of a list: "element 2 of "64,x" is "x", ..."
  static Error refused(std::string_view list, size_t place, std::string_view why) {
    return invalid_argument("element " + std::to_string(place) + " of " + in_quotes(list) + " " + std::string(why));
  }

 private:
  Error refused(std::string_view why) const { return refused(text_, place_, why); }
  void skip_blanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(kBlanks), rest_.size())); }
  bool take_comma() {
    if (rest_.empty()) return false;
    rest_.remove_prefix(1);
    return true;
  }

  Result<std::string> bare_element() {
    std::string_view element = rest_.substr(0, rest_.find(','));
    rest_.remove_prefix(element.size());
    element = element.substr(0, element.find_last_not_of(kBlanks) + 1);
    if (element.empty()) {
      return refused(std::string("is missing: write no comma there") + (of_texts_ ? ", or \"\" for an empty text" : ""));
    }
    if (element.find('"') != std::string_view::npos) return refused("has a quote in it" + std::string(kQuoteHint));
    return std::string(element);
  }

  Result<std::string> quoted_element() {
    std::string element;
    for (;;) {
      rest_.remove_prefix(1);
      const size_t end = rest_.find('"');
      if (end == std::string_view::npos) return refused("has no quote at its end");
      element += rest_.substr(0, end);
      rest_.remove_prefix(end + 1);
      if (!rest_.starts_with('"')) break;
      element += '"';
    }
    skip_blanks();
    if (!rest_.empty() && rest_[0] != ',') return refused("goes on behind its quotes" + std::string(kQuoteHint));
    return element;
  }

  const std::string_view text_;
  std::string_view rest_;
  const bool of_texts_;
  size_t place_ = 0;  // The number of the current element, from 1.
};

template <class T>
Result<Params::Item> numbers(std::string_view text, const std::vector<std::string>& elements, std::string_view type) {
  std::vector<T> list;
  for (const std::string& element : elements) {
    const std::optional<T> number = number_from<T>(element);
    if (!number) {
      return ListReader::refused(text, list.size() + 1, "is " + in_quotes(element) + ", which is no " + std::string(type));
    }
    list.push_back(*number);
  }
  return Params::Item(std::move(list));
}

Result<Params::Item> texts(std::string_view text, std::vector<std::string> elements,
                           const std::vector<std::string>& choices) {
  for (size_t i = 0; i < elements.size() && !choices.empty(); ++i) {
    if (std::find(choices.begin(), choices.end(), elements[i]) != choices.end()) continue;
    return ListReader::refused(text, i + 1,
                               "is " + in_quotes(elements[i]) + ", which is none of " + comma_separated(choices) +
                                   did_you_mean(elements[i], choices));
  }
  return Params::Item(std::move(elements));
}

std::string text_of(int64_t number) { return std::to_string(number); }
std::string text_of(double number) { return shortest_text(number); }
std::string text_of(const std::string& element) {
  const auto is_blank = [](char c) { return kBlanks.find(c) != std::string_view::npos; };
  const bool bare = !element.empty() && !is_blank(element.front()) && !is_blank(element.back()) &&
                    element.find_first_of(",\"") == std::string::npos;
  if (bare) return element;
  std::string doubled;
  for (const char c : element) doubled += c == '"' ? std::string("\"\"") : std::string(1, c);
  return in_quotes(doubled);
}

template <class List>
std::string joined(const List& list) {
  std::string text;
  for (const auto& element : list) text += (text.empty() ? "" : ",") + text_of(element);
  return text;
}

}  // namespace

bool is_list(const Params::Item& item) {
  return std::holds_alternative<std::vector<int64_t>>(item) || std::holds_alternative<std::vector<double>>(item) ||
         std::holds_alternative<std::vector<std::string>>(item);
}

std::string list_type(const ProgramFlag& flag) {
  if (std::holds_alternative<std::vector<int64_t>>(*flag.otherwise)) return "INT,INT,...";
  if (std::holds_alternative<std::vector<double>>(*flag.otherwise)) return "NUMBER,NUMBER,...";
  return flag.choices.empty() ? "TEXT,TEXT,..." : "TEXT,TEXT,... of {" + joined(flag.choices) + "}";
}

Result<Params::Item> read_list(std::string_view text, const ProgramFlag& flag) {
  const bool of_texts = std::holds_alternative<std::vector<std::string>>(*flag.otherwise);
  SHOAL_TRY(std::vector<std::string> elements, ListReader(text, of_texts).elements());
  if (std::holds_alternative<std::vector<int64_t>>(*flag.otherwise)) return numbers<int64_t>(text, elements, "INT");
  if (std::holds_alternative<std::vector<double>>(*flag.otherwise)) return numbers<double>(text, elements, "NUMBER");
  return texts(text, std::move(elements), flag.choices);
}

std::string list_text(const Params::Item& list) {
  if (const auto* integers = std::get_if<std::vector<int64_t>>(&list)) return joined(*integers);
  if (const auto* reals = std::get_if<std::vector<double>>(&list)) return joined(*reals);
  return joined(std::get<std::vector<std::string>>(list));
}

}  // namespace shoal
