// SPDX-License-Identifier: Apache-2.0
// Implements `shoal compare DIR DIR [--json]`.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <ostream>

#include "command.h"
#include "json_out.h"
#include "plot/clean_text.h"
#include "plot/comparison.h"
#include "plot/run_names.h"
#include "shoal/base/format.h"
#include "shoal/json/values.h"

namespace shoal::cli {
namespace {

using plot::Better;

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

Json pair_json(const std::optional<plot::Timed<double>>& a, const std::optional<plot::Timed<double>>& b, Better better) {
  if (!a || !b) return nullptr;
  const int one = plot::better_one(a->value, b->value, better);
  return {{"a", timed_json(*a)},
          {"b", timed_json(*b)},
          {"difference", json::number_json(b->value - a->value)},
          {"better", better == Better::kUnknown ? Json(nullptr)
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
    json["evaluations"][metric.key.text()] = {{"last", pair_json(metric.last_a, metric.last_b, metric.better)},
                                              {"best", pair_json(metric.best_a, metric.best_b, metric.better)}};
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

/// A table whose columns are as wide as their texts.
class TextTable {
 public:
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  void print(std::ostream& out) const {
    std::vector<size_t> widths;
    for (const auto& row : rows_) {
      widths.resize(std::max(widths.size(), row.size()));
      for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], plot::characters_in(row[i]));
    }
    for (const auto& row : rows_) {
      std::string line;
      for (size_t i = 0; i < row.size(); ++i) {
        line += "  " + row[i];
        if (i + 1 < row.size()) line += std::string(widths[i] - plot::characters_in(row[i]), ' ');
      }
      out << line.substr(0, line.find_last_not_of(' ') + 1) << '\n';
    }
  }

 private:
  std::vector<std::vector<std::string>> rows_;
};

std::string number_of(double value) {
  return std::isfinite(value) ? formatted("%.6g", value) : std::isnan(value) ? "NaN" : value > 0 ? "inf" : "-inf";
}

std::string fact_text(const json::Json& value) {
  if (value.is_null()) return "-";
  return plot::shortened(plot::clean_text(value.is_string() ? value.get<std::string>() : json::text_of(value)), 48);
}

/// Says which run is better: the one whose best evaluation has the smaller loss.
void print_better(std::ostream& out, const plot::Comparison& comparison, const std::vector<std::string>& names) {
  for (const plot::MetricComparison& metric : comparison.metrics) {
    if (metric.key.tag != "loss" || !metric.best_a || !metric.best_b) continue;
    const int one = plot::better_one(metric.best_a->value, metric.best_b->value, metric.better);
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

void print_facts(std::ostream& out, const plot::Comparison& comparison, const std::vector<std::string>& names) {
  if (comparison.facts.empty()) {
    out << (comparison.knows_facts ? "\nParameters, versions and seeds: the same.\n"
                                   : "\nParameters, versions and seeds: not known, since neither folder has a report.json.\n");
    return;
  }
  out << "\nWhat differs in the runs' flags, versions and reports\n";
  TextTable table;
  table.add({"", names[0], names[1]});
  for (const plot::FactDifference& fact : comparison.facts)
    table.add({plot::clean_text(fact.name), fact_text(fact.a), fact_text(fact.b)});
  table.print(out);
}

void print_metrics(std::ostream& out, const plot::Comparison& comparison, const std::vector<std::string>& names) {
  if (comparison.metrics.empty()) {
    out << "\nThe runs have no metrics of evaluations in common.\n";
    return;
  }
  out << "\nEvaluations\n";
  TextTable table;
  table.add({"", "", names[0], names[1], "difference", "better"});
  const auto add = [&](const std::string& name, const char* which, const plot::Timed<double>& a,
                       const plot::Timed<double>& b, Better better) {
    const int one = plot::better_one(a.value, b.value, better);
    const auto text = [](const plot::Timed<double>& value) {
      return number_of(value.value) + " (step " + std::to_string(value.step) + ")";
    };
    table.add({name, which, text(a), text(b), number_of(b.value - a.value),
               one < 0                      ? names[0]
               : one > 0                    ? names[1]
               : better == Better::kUnknown ? ""
                                            : "same"});
  };
  for (const plot::MetricComparison& metric : comparison.metrics) {
    const std::string name = plot::clean_text(metric.key.text());
    add(name, "last", metric.last_a, metric.last_b, metric.better);
    if (metric.best_a && metric.best_b) add("", "best", *metric.best_a, *metric.best_b, metric.better);
  }
  table.print(out);
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

void print_curves(std::ostream& out, const plot::Comparison& comparison, const std::vector<std::string>& names) {
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

void print_lonely(std::ostream& out, const std::string& name, const std::vector<plot::Key>& keys) {
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

void add_compare_command(CLI::App& app, Action& selected) {
  CLI::App* command =
      app.add_subcommand("compare", "How two runs differ: parameters, metrics, and where their curves part");
  const auto arguments = std::make_shared<CompareArguments>();
  command->add_option("DIR", arguments->a, "The model_dir of the first run")->required();
  command->add_option("OTHER", arguments->b, "The model_dir of the second run")->required();
  command->add_flag("--json", arguments->json, "Print one JSON object");
  command->callback(
      [&selected, arguments] { selected = [arguments](Context& context) { return compare_runs(context, *arguments); }; });
}

}  // namespace shoal::cli
