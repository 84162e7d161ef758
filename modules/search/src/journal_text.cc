// SPDX-License-Identifier: Apache-2.0
// Writes the lines of a journal, and reads them with checks.
#include <algorithm>
#include <array>
#include <set>

#include "shoal/base/names_text.h"
#include "shoal/json/exact.h"
#include "shoal/json/fields.h"
#include "shoal/search/journal.h"

namespace shoal::tuning {
namespace {

using Json = json::Json;
using Printed = json::PrintedJson;

constexpr int64_t kFormat = 1;
constexpr std::array<std::string_view, 3> kAlgorithms{"grid", "random", "asha"};
constexpr std::array<std::string_view, 4> kOutcomes{"complete", "stopped", "failed", "retry"};

template <class Enum, size_t count>
Result<Enum> parse_name(const std::array<std::string_view, count>& names, std::string_view name, const char* what) {
  const auto found = std::ranges::find(names, name);
  if (found != names.end()) return Enum(found - names.begin());
  return invalid_argument("\"" + std::string(name) + "\" is no " + what + "; there are " + comma_separated(names));
}

/// Writes a value as JSON. A text may hold any bytes, so exact_text() stores it.
Printed value_json(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return Printed(json::exact_text(*text));
  return std::visit([](const auto& one) { return Printed(one); }, value);
}

Printed exact_json(double number) { return Printed(json::exact_number(number)); }

std::string line_from(const Printed& object) { return json::text_of(object) + "\n"; }

struct LineWriter {
  std::string operator()(const TrialCreated& created) const {
    Printed parameters = Printed::object();
    for (const auto& [name, value] : created.parameters) parameters[name] = value_json(value);
    return line_from({{"record", "created"}, {"trial", created.trial}, {"parameters", std::move(parameters)}});
  }
  std::string operator()(const TrialStarted& started) const {
    return line_from({{"record", "started"}, {"trial", started.trial}, {"attempt", started.attempt}});
  }
  std::string operator()(const TrialObserved& observed) const {
    return line_from({{"record", "observed"},
                      {"trial", observed.trial},
                      {"rung", observed.rung},
                      {"step", observed.step},
                      {"value", exact_json(observed.value)},
                      {"verdict", observed.goes_on ? "go on" : "end"}});
  }
  std::string operator()(const TrialEnded& ended) const {
    Printed line{
        {"record", "ended"}, {"trial", ended.trial}, {"outcome", to_string(ended.outcome)}, {"status", ended.status}};
    line["value"] = ended.value ? exact_json(*ended.value) : Printed();
    line["step"] = ended.step;
    line["seconds"] = ended.seconds;
    if (!ended.error.empty()) line["error"] = json::as_utf8(ended.error);
    return line_from(line);
  }
  std::string operator()(const TrialInterrupted& interrupted) const {
    return line_from({{"record", "interrupted"}, {"trial", interrupted.trial}, {"seconds", interrupted.seconds}});
  }
};

/// Writes the words of a command as a JSON list. A word may hold any bytes.
Printed words_json(const std::vector<std::string>& words) {
  Printed list = Printed::array();
  for (const std::string& word : words) list.push_back(Printed(json::exact_text(word)));
  return list;
}

Result<std::vector<std::string>> words_of(const Json& list, std::string_view name) {
  std::vector<std::string> words;
  for (size_t i = 0; i < list.size(); ++i) {
    SHOAL_TRY(const Json* word, json::element(list, i, name));
    SHOAL_TRY(std::string text, json::exact_text_of(*word, name));
    words.push_back(std::move(text));
  }
  return words;
}

Result<SearchHeader> header_from(const Json& object) {
  SHOAL_TRY(const std::string record, json::string_member(object, "record"));
  if (record != "search") return data_loss("the first line is not the header of a search");
  SHOAL_TRY(const int64_t format, json::whole_member<int64_t>(object, "format", 1));
  if (format > kFormat) return failed_precondition("format " + std::to_string(format) + " is of a newer version of Shoal");
  SearchHeader header;
  SHOAL_TRY(const std::string algorithm, json::string_member(object, "algorithm"));
  SHOAL_TRY(header.algorithm, parse_algorithm(algorithm));
  SHOAL_TRY(const std::string goal, json::string_member(object, "goal"));
  SHOAL_TRY(header.goal, parse_goal(goal));
  SHOAL_TRY(const Json* metric, json::member(object, "metric"));
  SHOAL_TRY(header.metric, json::exact_text_of(*metric, "metric"));
  SHOAL_TRY(header.seed, json::whole_member<int64_t>(object, "seed"));
  SHOAL_TRY(header.min_steps, json::whole_member<int64_t>(object, "min_steps", 0));
  SHOAL_TRY(header.max_steps, json::whole_member<int64_t>(object, "max_steps", 0));
  SHOAL_TRY(header.eta, json::whole_member<int64_t>(object, "eta", 0));
  SHOAL_TRY(const Json* space, json::list_member(object, "space"));
  SHOAL_TRY(const std::vector<std::string> texts, words_of(*space, "space"));
  std::vector<Parameter> parameters;
  for (const std::string& text : texts) {
    SHOAL_TRY(Parameter parameter, parse_parameter(text));
    parameters.push_back(std::move(parameter));
  }
  SHOAL_TRY(header.space, Space::create(std::move(parameters)));
  SHOAL_TRY(const Json* program, json::list_member(object, "program"));
  SHOAL_TRY(header.program, words_of(*program, "program"));
  return header;
}

Result<Value> value_from(const Json& json, const Parameter& parameter) {
  if (parameter.kind == Parameter::Kind::kReal) {
    SHOAL_TRY(const double number, json::number_of(json, parameter.name));
    return Value(number);
  }
  if (parameter.kind == Parameter::Kind::kInteger) {
    SHOAL_TRY(const int64_t number, json::whole_of<int64_t>(json, parameter.name));
    return Value(number);
  }
  SHOAL_TRY(std::string text, json::exact_text_of(json, parameter.name));
  return Value(std::move(text));
}

Result<Assignment> parameters_from(const Json& object, const Space& space) {
  Assignment assignment;
  for (const Parameter& parameter : space.parameters()) {
    if (!Space::is_active(parameter, assignment)) continue;
    SHOAL_TRY(const Json* json, json::member(object, parameter.name));
    SHOAL_TRY(Value value, value_from(*json, parameter));
    assignment.emplace_back(parameter.name, std::move(value));
  }
  if (assignment.size() != object.size()) return data_loss("\"parameters\" has a parameter that the space lacks");
  return assignment;
}

Result<TrialObserved> observed_from(const Json& object, int64_t trial) {
  TrialObserved observed{.trial = trial};
  SHOAL_TRY(observed.rung, json::whole_member<int64_t>(object, "rung", 0));
  SHOAL_TRY(observed.step, json::whole_member<int64_t>(object, "step", 0));
  SHOAL_TRY(const Json* value, json::member(object, "value"));
  SHOAL_TRY(observed.value, json::exact_number_of(*value, "value"));
  SHOAL_TRY(const std::string verdict, json::string_member(object, "verdict"));
  if (verdict != "go on" && verdict != "end") return json::must_be("verdict", "\"go on\" or \"end\"");
  observed.goes_on = verdict == "go on";
  return observed;
}

Result<TrialEnded> ended_from(const Json& object, int64_t trial) {
  TrialEnded ended{.trial = trial};
  SHOAL_TRY(const std::string outcome, json::string_member(object, "outcome"));
  SHOAL_TRY(ended.outcome, parse_name<Outcome>(kOutcomes, outcome, "outcome"));
  SHOAL_TRY(ended.status, json::whole_member<int64_t>(object, "status"));
  SHOAL_TRY(const Json* value, json::member(object, "value"));
  if (!value->is_null()) {
    SHOAL_TRY(ended.value, json::exact_number_of(*value, "value"));
  }
  SHOAL_TRY(ended.step, json::whole_member<int64_t>(object, "step"));
  SHOAL_TRY(ended.seconds, json::number_member(object, "seconds"));
  if (object.contains("error")) {
    SHOAL_TRY(ended.error, json::string_member(object, "error"));
  }
  return ended;
}

/// Keeps track of which trials exist and which have ended, while lines are read.
class TrialsRead {
 public:
  Result<Record> next(const Json& object, const Space& space) {
    SHOAL_TRY(const std::string record, json::string_member(object, "record"));
    SHOAL_TRY(const int64_t trial, json::whole_member<int64_t>(object, "trial", 0));
    if (record == "created") {
      if (trial != count_)
        return data_loss("trial " + std::to_string(trial) + " is created, but trial " + std::to_string(count_) +
                         " comes next");
      ++count_;
      SHOAL_TRY(const Json* parameters, json::object_member(object, "parameters"));
      SHOAL_TRY(Assignment assignment, parameters_from(*parameters, space));
      return Record(TrialCreated{.trial = trial, .parameters = std::move(assignment)});
    }
    if (trial >= count_) return data_loss("there is no trial " + std::to_string(trial));
    if (ended_.contains(trial)) return data_loss("trial " + std::to_string(trial) + " has ended in an earlier line");
    if (record == "started") {
      SHOAL_TRY(const int64_t attempt, json::whole_member<int64_t>(object, "attempt", 1));
      return Record(TrialStarted{.trial = trial, .attempt = attempt});
    }
    if (record == "observed") {
      SHOAL_TRY(TrialObserved observed, observed_from(object, trial));
      return Record(observed);
    }
    if (record == "interrupted") {
      SHOAL_TRY(const double seconds, json::number_member(object, "seconds"));
      return Record(TrialInterrupted{.trial = trial, .seconds = seconds});
    }
    if (record != "ended") {
      return data_loss("\"record\" is none of created, started, observed, interrupted, ended");
    }
    SHOAL_TRY(TrialEnded ended, ended_from(object, trial));
    if (ended.outcome != Outcome::kRetry) ended_.insert(trial);
    return Record(std::move(ended));
  }

 private:
  int64_t count_ = 0;
  std::set<int64_t> ended_;
};

}  // namespace

std::string_view to_string(Algorithm algorithm) { return kAlgorithms[size_t(algorithm)]; }
Result<Algorithm> parse_algorithm(std::string_view name) { return parse_name<Algorithm>(kAlgorithms, name, "algorithm"); }
std::string_view to_string(Outcome outcome) { return kOutcomes[size_t(outcome)]; }

std::string line_of(const SearchHeader& header) {
  std::vector<std::string> space;
  for (const Parameter& parameter : header.space.parameters()) space.push_back(text_of(parameter));
  return line_from({{"record", "search"},
                    {"format", kFormat},
                    {"version", SHOAL_VERSION},
                    {"algorithm", to_string(header.algorithm)},
                    {"seed", header.seed},
                    {"metric", Printed(json::exact_text(header.metric))},
                    {"goal", to_string(header.goal)},
                    {"min_steps", header.min_steps},
                    {"max_steps", header.max_steps},
                    {"eta", header.eta},
                    {"space", words_json(space)},
                    {"program", words_json(header.program)}});
}

std::string line_of(const Record& record) { return std::visit(LineWriter(), record); }

Result<std::optional<JournalContents>> parse_journal(std::string_view text, const std::string& path) {
  std::optional<JournalContents> contents;
  TrialsRead trials;
  size_t begin = 0;
  for (int64_t number = 1; begin < text.size(); ++number) {
    const size_t end = text.find('\n', begin);
    if (end == std::string_view::npos) break;
    const auto failed = [&](const Error& error) {
      return data_loss(path + ", line " + std::to_string(number) + ": " + error.message() +
                       "; put the file back as it was, or begin another search in another folder");
    };
    const Result<Json> object = json::parse_object(text.substr(begin, end - begin));
    if (!object) return failed(object.error());
    if (!contents) {
      Result<SearchHeader> header = header_from(*object);
      if (!header) return failed(header.error());
      contents.emplace(JournalContents{.header = *std::move(header)});
    } else {
      Result<Record> record = trials.next(*object, contents->header.space);
      if (!record) return failed(record.error());
      contents->records.push_back(*std::move(record));
    }
    begin = end + 1;
    contents->intact_bytes = begin;
  }
  return contents;
}

}  // namespace shoal::tuning
