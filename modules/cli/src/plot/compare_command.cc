// SPDX-License-Identifier: Apache-2.0
// Implements `shoal compare DIR DIR [--json]`.
#include <algorithm>
#include <climits>
#include <cmath>

#include "command.h"
#include "json_out.h"
#include "plot/clean_text.h"
#include "plot/comparison.h"
#include "plot/run_names.h"
#include "shoal/arguments/command.h"
#include "shoal/base/format.h"
#include "shoal/json/values.h"
#include "text_table.h"

namespace shoal::cli {
namespace {

struct CompareArguments {
  std::string a, b;
  bool json = false;
};

Json printed(const json::Json& value) {
  return value.is_null() ? Json(nullptr) : json::parse_in_order(json::text_of(value));
}

Json timed_json(const plot::Timed<double>& value) {
  return {{"step", value.step}, {"value", json::number_json(value.value)}};
}

Json pair_json(const std::optional<plot::Timed<double>>& a, const std::optional<plot::Timed<double>>& b,
               std::optional<tuning::Goal> goal) {
  if (!a || !b) return nullptr;
  const int one = plot::better_one(a->value, b->value, goal);
  return {{"a", timed_json(*a)},
          {"b", timed_json(*b)},
          {"difference", json::number_json(b->value - a->value)},
          {"better", !goal ? Json(nullptr)
                           : Json(one < 0   ? "a"
                                  : one > 0 ? "b"
                                            : "same")}};
}

Json difference_json(const std::optional<plot::StepDifference>& difference) {
  if (!difference) return nullptr;
  return {{"step", difference->step}, {"a", json::number_json(difference->a)}, {"b", json::number_json(difference->b)}};
}

Json comparison_json(const plot::Comparison& comparison, const CompareArguments& arguments) {
  Json json{{"a", arguments.a}, {"b", arguments.b}, {"differences", Json::object()}};
  for (const plot::FactDifference& fact : comparison.facts) {
    json["differences"][fact.name] = {{"a", printed(fact.a)}, {"b", printed(fact.b)}};
  }
  json["evaluations"] = Json::object();
  for (const plot::MetricComparison& metric : comparison.metrics) {
    json["evaluations"][metric.key.text()] = {{"last", pair_json(metric.last_a, metric.last_b, metric.goal)},
                                              {"best", pair_json(metric.best_a, metric.best_b, metric.goal)}};
  }
  json["curves"] = Json::object();
  for (const plot::CurveComparison& curve : comparison.curves) {
    json["curves"][curve.key.text()] = {{"a", {{"values", curve.count_a}, {"last_step", curve.last_step_a}}},
                                        {"b", {{"values", curve.count_b}, {"last_step", curve.last_step_b}}},
                                        {"compared", curve.compared},
                                        {"first_difference", difference_json(curve.first)},
                                        {"first_difference_over_1e-6", difference_json(curve.first_far)}};
  }
  const auto add_keys = [&json](const char* name, const std::vector<plot::Key>& keys) {
    json[name] = Json::array();
    for (const plot::Key& key : keys) json[name].push_back(key.text());
  };
  add_keys("only_a", comparison.only_a);
  add_keys("only_b", comparison.only_b);
  return json;
}

/// Prints a table. Lines that are longer than the terminal is wide are not cut, because that would hide values.
void print_table(TextOutput& out, const std::vector<TextColumn>& table) {
  for (const std::string& line : text_table(table, INT_MAX)) out << "  " << line << '\n';
}

std::string number_of(double value) {
  return std::isfinite(value) ? formatted("%.6g", value) : std::isnan(value) ? "NaN" : value > 0 ? "inf" : "-inf";
}

std::string fact_text(const json::Json& value) {
  if (value.is_null()) return "-";
  return plot::shortened(plot::clean_text(value.is_string() ? value.get<std::string>() : json::text_of(value)), 48);
}

/// Says which run is better: the one whose best evaluation has the smaller loss.
void print_better(TextOutput& out, const plot::Comparison& comparison, const std::vector<std::string>& names) {
  for (const plot::MetricComparison& metric : comparison.metrics) {
    if (metric.key.tag != "loss" || !metric.best_a || !metric.best_b) continue;
    const int one = plot::better_one(metric.best_a->value, metric.best_b->value, metric.goal);
    const std::string key = plot::clean_text(metric.key.text());
    const std::string a = number_of(metric.best_a->value), b = number_of(metric.best_b->value);
    if (one == 0) {
      out << "The best " << key << " of both is " << a << ".\n";
    } else {
      out << names[one < 0 ? 0 : 1] << " is better: its best " << key << " is " << (one < 0 ? a : b) << ", and that of "
          << names[one < 0 ? 1 : 0] << " is " << (one < 0 ? b : a) << ".\n";
    }
  }
}

void print_facts(TextOutput& out, const plot::Comparison& comparison, const std::vector<std::string>& names) {
  if (comparison.facts.empty()) {
    out << (comparison.knows_facts
                ? "\nParameters, versions and seeds: the same.\n"
                : "\nParameters, versions and seeds: not known, since neither folder has a report.json.\n");
    return;
  }
  out << "\nWhat differs in the runs' flags, versions and reports\n";
  TextColumn name, a{.title = names[0]}, b{.title = names[1]};
  for (const plot::FactDifference& fact : comparison.facts) {
    name.cells.push_back(plot::clean_text(fact.name));
    a.cells.push_back(fact_text(fact.a));
    b.cells.push_back(fact_text(fact.b));
  }
  print_table(out, {name, a, b});
}

void print_metrics(TextOutput& out, const plot::Comparison& comparison, const std::vector<std::string>& names) {
  if (comparison.metrics.empty()) {
    out << "\nThe runs have no metrics of evaluations in common.\n";
    return;
  }
  out << "\nEvaluations\n";
  TextColumn name, which, a{.title = names[0]}, b{.title = names[1]}, difference{.title = "difference"},
      better{.title = "better"};
  const auto add = [&](const std::string& metric, const char* kind, const plot::Timed<double>& value_a,
                       const plot::Timed<double>& value_b, std::optional<tuning::Goal> goal) {
    const int one = plot::better_one(value_a.value, value_b.value, goal);
    const auto text = [](const plot::Timed<double>& value) {
      return number_of(value.value) + " (step " + std::to_string(value.step) + ")";
    };
    name.cells.push_back(metric);
    which.cells.push_back(kind);
    a.cells.push_back(text(value_a));
    b.cells.push_back(text(value_b));
    difference.cells.push_back(number_of(value_b.value - value_a.value));
    better.cells.push_back(one < 0 ? names[0] : one > 0 ? names[1] : goal ? "same" : "");
  };
  for (const plot::MetricComparison& metric : comparison.metrics) {
    const std::string text = plot::clean_text(metric.key.text());
    add(text, "last", metric.last_a, metric.last_b, metric.goal);
    if (metric.best_a && metric.best_b) add("", "best", *metric.best_a, *metric.best_b, metric.goal);
  }
  print_table(out, {name, which, a, b, difference, better});
}

std::string curve_text(const plot::CurveComparison& curve) {
  if (curve.compared == 0) return "no step has a value in both runs";
  if (!curve.first) return "the same at all " + std::to_string(curve.compared) + " steps that both have";
  const auto text = [](const plot::StepDifference& at) {
    return std::to_string(at.step) + " (" + formatted("%.9g", at.a) + ", " + formatted("%.9g", at.b) + ")";
  };
  std::string sentence = "differs from step " + text(*curve.first) + " on";
  if (curve.last_same) sentence += ", the same to step " + std::to_string(*curve.last_same);
  if (!curve.first_far) return sentence + ", and never by more than a millionth";
  if (curve.first_far->step != curve.first->step)
    sentence += ", by more than a millionth from step " + text(*curve.first_far) + " on";
  return sentence;
}

void print_curves(TextOutput& out, const plot::Comparison& comparison, const std::vector<std::string>& names) {
  if (comparison.curves.empty()) {
    out << "\nThe runs have no scalars of training in common.\n";
    return;
  }
  out << "\nTraining\n";
  for (const plot::CurveComparison& curve : comparison.curves) {
    const auto length = [](int64_t count, int64_t last) {
      return std::to_string(count) + " values to step " + std::to_string(last);
    };
    out << "  " << plot::clean_text(curve.key.tag) << ": " << curve_text(curve) << '\n';
    out << "    " << names[0] << ": " << length(curve.count_a, curve.last_step_a) << "; " << names[1] << ": "
        << length(curve.count_b, curve.last_step_b) << '\n';
  }
}

void print_lonely(TextOutput& out, const std::string& name, const std::vector<plot::Key>& keys) {
  if (keys.empty()) return;
  constexpr size_t kShown = 12;
  out << "\nOnly " << name << " has";
  for (size_t i = 0; i < std::min(keys.size(), kShown); ++i)
    out << (i == 0 ? " " : ", ") << plot::clean_text(keys[i].text());
  if (keys.size() > kShown) out << " and " << keys.size() - kShown << " more";
  out << '\n';
}

Result<int> compare_runs(Context& context, const CompareArguments& arguments) {
  bool damaged = false;
  const auto complain = [&](const std::string& sentence) {
    damaged = true;
    context.complain(sentence);
  };
  std::vector<plot::HistoryReader> readers;
  std::vector<plot::RunFacts> facts;
  for (const std::string& folder : {arguments.a, arguments.b}) {
    plot::HistoryReader& reader = readers.emplace_back(context.storage, folder, plot::Kept{});
    SHOAL_TRY_VOID(reader.read());
    for (const Error& error : reader.take_damage()) complain(error.message());
    SHOAL_TRY(facts.emplace_back(), plot::read_run_facts(context.storage, folder));
    for (const std::string& sentence : facts.back().complaints) complain(sentence);
    for (const std::string& sentence : facts.back().remarks) context.complain(sentence);
    if (!reader.history().has_events && facts.back().facts.empty()) {
      return not_found(folder +
                       ": is no folder of a run: it has no event files, no report.json, no run.json and no checkpoints");
    }
  }
  const plot::Comparison comparison = plot::compare(readers[0].history(), facts[0], readers[1].history(), facts[1]);
  if (arguments.json) {
    print(context, comparison_json(comparison, arguments));
  } else {
    const std::vector<std::string> names = plot::run_names({arguments.a, arguments.b});
    context.out << names[0] << ": " << plot::clean_text(arguments.a) << '\n'
                << names[1] << ": " << plot::clean_text(arguments.b) << '\n';
    print_better(context.out, comparison, names);
    print_facts(context.out, comparison, names);
    print_metrics(context.out, comparison, names);
    print_curves(context.out, comparison, names);
    print_lonely(context.out, names[0], comparison.only_a);
    print_lonely(context.out, names[1], comparison.only_b);
  }
  return damaged ? exit_status(ErrorKind::kDataLoss) : 0;
}

}  // namespace

void add_compare_command(arguments::Command& app, Action& selected) {
  arguments::Command& command =
      app.add_command("compare", "How two runs differ: parameters, metrics, and where their curves part");
  const auto arguments = std::make_shared<CompareArguments>();
  command.add("DIR", arguments->a, "The model_dir of the first run").path("FOLDER").required();
  command.add("OTHER", arguments->b, "The model_dir of the second run").path("FOLDER").required();
  command.add_switch("--json", arguments->json, "Print one JSON object");
  command.on_selected(
      [&selected, arguments] { selected = [arguments](Context& context) { return compare_runs(context, *arguments); }; });
}

}  // namespace shoal::cli
