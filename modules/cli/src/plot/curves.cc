// SPDX-License-Identifier: Apache-2.0
#include "plot/curves.h"

#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "plot/best_value.h"
#include "plot/clean_text.h"
#include "plot/smoothing.h"
#include "shoal/base/names_text.h"

namespace shoal::cli::plot {
namespace {

constexpr size_t kPanelsMax = 64;
constexpr size_t kColours = 8;

std::vector<Key> scalar_keys(const std::vector<RunToDraw>& runs) {
  std::set<Key> keys;
  for (const RunToDraw& run : runs) {
    for (const auto& [key, sequence] : run.history->scalars) {
      if (!sequence.items().empty()) keys.insert(key);
    }
  }
  return {keys.begin(), keys.end()};
}

Error nothing_to_draw(const std::vector<Key>& all, const std::vector<std::string>& patterns) {
  constexpr size_t kNamed = 12;
  if (all.empty())
    return not_found("no scalars: there are no event files with scalars in the folders, nor in eval folders below them");
  std::string tags;
  for (size_t i = 0; i < std::min(all.size(), kNamed); ++i) tags += (i == 0 ? "" : ", ") + clean_text(all[i].text());
  if (all.size() > kNamed) tags += " and " + std::to_string(all.size() - kNamed) + " more";
  return not_found("no run has a scalar that fits --tag " + comma_separated(patterns, clean_text) + "; there are: " + tags);
}

std::string title_of(const Key& key) {
  return clean_text(key.tag) + (key.source.empty() ? " of training" : " of evaluation (" + clean_text(key.source) + ")");
}

std::string label_of(XAxis x) {
  return x == XAxis::kStep ? "step" : x == XAxis::kTime ? "seconds of training" : "examples";
}

double place_of(const RunToDraw& run, const Timed<double>& value, XAxis x) {
  switch (x) {
    case XAxis::kStep: return double(value.step);
    case XAxis::kTime: return run.history->seconds_at(value.wall);
    case XAxis::kExamples: return double(value.step) * run.examples_per_step.value_or(0);
  }
  return 0;
}

/// A logarithmic axis cannot show a value that is not positive, so the value becomes a gap.
double drawable(double y, bool log) { return log && !(y > 0) ? NAN : y; }

std::vector<XY> points_of(const RunToDraw& run, const std::vector<Timed<double>>& values, const CurveOptions& options) {
  std::vector<XY> points;
  points.reserve(values.size());
  for (const Timed<double>& value : values)
    points.push_back({place_of(run, value, options.x), drawable(value.value, options.log_y)});
  return points;
}

void smooth_all(std::vector<Timed<double>>& values, double weight) {
  std::vector<double> numbers;
  for (const Timed<double>& value : values) numbers.push_back(value.value);
  const std::vector<double> smooth = smoothed(numbers, weight);
  for (size_t i = 0; i < values.size(); ++i) values[i].value = smooth[i];
}

void include(Range& range, double value, bool& any) {
  if (!std::isfinite(value)) return;
  range = any ? Range{std::min(range.low, value), std::max(range.high, value)} : Range{value, value};
  any = true;
}

/// Sets the ranges of both axes to those of the lines.
void fit_axes(LinePanel& panel) {
  Range x, y;
  bool any_x = false, any_y = false;
  for (const Line& line : panel.lines) {
    for (const std::vector<XY>* points : {&line.points, &line.faint}) {
      for (const XY& point : *points) {
        include(x, point.x, any_x);
        include(y, point.y, any_y);
      }
    }
  }
  // If all points have the same x, as in a run with a single step, the axis reaches from 5 below this x to 5 above it.
  const Range around{x.low - 5, x.high + 5};
  panel.x = x.low < x.high ? x : around.low < around.high - 9 ? around : widened(x, 0, false);
  if (!any_y) panel.notes.push_back(panel.log_y ? "No value is positive, as a logarithm needs." : "No value is finite.");
  panel.log_y &= any_y;
  panel.y = widened(any_y ? y : Range{0, 1}, 0.05, panel.log_y);
}

/// Adds a note such as "a: 9 of 10 values are no finite numbers, the first at step 20."
void note_gaps(LinePanel& panel, const std::string& name, const std::vector<Timed<double>>& values) {
  const auto is_gap = [](const Timed<double>& value) { return !std::isfinite(value.value); };
  const auto first = std::find_if(values.begin(), values.end(), is_gap);
  if (first == values.end()) return;
  panel.notes.push_back(name + ": " + std::to_string(std::count_if(values.begin(), values.end(), is_gap)) + " of " +
                        std::to_string(values.size()) + " values are no finite numbers, the first at step " +
                        std::to_string(first->step) + ".");
}

LinePanel panel_of(const Key& key, const std::vector<RunToDraw>& runs, const CurveOptions& options) {
  LinePanel panel{.title = title_of(key), .x_label = label_of(options.x), .log_y = options.log_y};
  // Evaluations are not smoothed: they are means over many examples already, and people compare their exact values.
  const double smooth = key.source.empty() ? options.smooth : 0;
  const auto goal = tuning::implied_goal(key.tag);
  std::optional<Timed<double>> best_of_all;
  size_t best_line = 0;
  bool one_is_best = false;
  bool hides_any = false;
  for (size_t i = 0; i < runs.size(); ++i) {
    const auto found = runs[i].history->scalars.find(key);
    if (found == runs[i].history->scalars.end() || found->second.items().empty()) continue;
    std::vector<Timed<double>> values = found->second.items();
    note_gaps(panel, runs[i].name, values);
    const std::vector<Timed<double>> recorded = values;
    hides_any |= std::any_of(values.begin(), values.end(), [](const Timed<double>& value) { return value.value <= 0; });
    smooth_all(values, smooth);
    Line line{.run = i, .points = points_of(runs[i], values, options), .last = short_number(values.back().value)};
    if (smooth > 0) line.faint = points_of(runs[i], recorded, options);
    if (const auto best = best_of(values, goal)) {
      line.best = short_number(best->value) + " at step " + std::to_string(best->step);
      const bool equal = best_of_all && best_of_all->value == best->value;
      if (equal) one_is_best = false;  // If two lines share the best value, neither is marked as the best.
      const std::vector<Timed<double>> two{best_of_all.value_or(*best), *best};
      if (!best_of_all || (!equal && best_of(two, goal)->value == best->value)) {
        best_of_all = best;
        best_line = panel.lines.size();
        one_is_best = true;
      }
    }
    panel.lines.push_back(std::move(line));
  }
  // Only evaluations have a best line: a loss of training is the loss of one batch, so the smallest says little about the
  // run.
  if (one_is_best && panel.lines.size() > 1 && !key.source.empty()) panel.lines[best_line].is_best = true;
  fit_axes(panel);
  if (panel.log_y && hides_any) panel.notes.push_back("Values that are not positive have no place on a logarithmic axis.");
  return panel;
}

bool fits(const Key& key, const std::string& pattern) {
  const auto is = [&](const std::string& text) { return ::fnmatch(pattern.c_str(), text.c_str(), FNM_NOESCAPE) == 0; };
  return key.source.empty() ? is(key.tag) || is("train/" + key.tag) : is(key.tag) || is(key.text());
}

}  // namespace

std::vector<std::string> default_patterns() { return {"train/loss", "eval*/loss", "eval*/accuracy", "eval*/auc"}; }

std::vector<Key> chosen_keys(const std::vector<Key>& all, const std::vector<std::string>& patterns) {
  std::vector<Key> chosen;
  std::set<Key> seen;
  for (const std::string& pattern : patterns) {
    for (const Key& key : all) {
      if (fits(key, pattern) && seen.insert(key).second) chosen.push_back(key);
    }
  }
  return chosen;
}

std::vector<Run> coloured_runs(const std::vector<RunToDraw>& runs, const std::vector<Key>& keys) {
  std::vector<Run> coloured;
  for (const RunToDraw& run : runs) coloured.push_back({run.name, std::nullopt, run.parameters});
  std::vector<std::pair<double, size_t>> order;  // Ascending.
  for (size_t i = 0; i < runs.size(); ++i) order.emplace_back(INFINITY, i);
  // Chooses the metric by which runs are ranked. The first choice is a metric whose name tells whether higher or lower is
  // better. Of equal choices, a metric of evaluations comes before a metric of training.
  const auto ranked = std::max_element(keys.begin(), keys.end(), [](const Key& a, const Key& b) {
    const auto rank = [](const Key& key) {
      return (tuning::implied_goal(key.tag).has_value() ? 2 : 0) + !key.source.empty();
    };
    return rank(a) < rank(b);
  });
  const bool has_room = runs.size() <= kColours;
  if (!has_room && ranked != keys.end()) {
    const auto goal = tuning::implied_goal(ranked->tag);
    for (auto& [value, run] : order) {
      const auto found = runs[run].history->scalars.find(*ranked);
      if (found == runs[run].history->scalars.end()) continue;
      const auto best = best_of(found->second.items(), goal);
      if (best) value = *goal == tuning::Goal::kMax ? -best->value : best->value;
    }
    std::stable_sort(order.begin(), order.end());
  }
  for (size_t i = 0; i < std::min(order.size(), has_room ? kColours : kColours - 1); ++i)
    coloured[order[i].second].colour = i;
  return coloured;
}

Result<Figure> draw_curves(const std::vector<RunToDraw>& runs, const CurveOptions& options) {
  const std::vector<Key> all = scalar_keys(runs);
  const std::vector<std::string> patterns = options.tags.empty() ? default_patterns() : options.tags;
  const std::vector<Key> keys = chosen_keys(all, patterns);
  if (keys.empty()) return nothing_to_draw(all, patterns);
  if (keys.size() > kPanelsMax) {
    return invalid_argument("--tag names " + std::to_string(keys.size()) + " tags, and at most " +
                            std::to_string(kPanelsMax) + " are drawn; give narrower patterns");
  }
  for (const RunToDraw& run : runs) {
    if (options.x != XAxis::kExamples || run.examples_per_step) continue;
    return failed_precondition(
        run.history->folder +
        ": the number of examples of a step is not known, since the folder has no report.json with the flag "
        "batch, which a training writes at its end; give it by --examples-per-step, or draw by --x step");
  }
  Figure figure{.runs = coloured_runs(runs, keys)};
  for (const Key& key : keys) figure.lines.push_back(panel_of(key, runs, options));
  if (options.smooth > 0) {
    figure.notes.push_back("Curves of training, with their last and best values, are smoothed by " +
                           short_number(options.smooth) + "; faint lines are as recorded.");
  }
  return figure;
}

}  // namespace shoal::cli::plot
