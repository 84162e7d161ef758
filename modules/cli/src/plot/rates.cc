// SPDX-License-Identifier: Apache-2.0
#include "plot/rates.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "plot/clean_text.h"

namespace shoal::cli::plot {
namespace {

constexpr size_t kRatePanelsMax = 64;

/// How many predictions are right and wrong for each class if probabilities above one threshold count as positive.
struct Counts {
  double true_positives = 0, false_positives = 0, true_negatives = 0, false_negatives = 0;
};

/// Returns the counts by descending threshold, so that the rates of true and of false positives ascend. Returns an empty
/// vector if a count is negative or not finite.
std::vector<Counts> counts_of(const Table& table) {
  std::vector<Counts> counts;
  for (int64_t i = table.columns; i-- > 0;) {
    const auto row = [&](int64_t at) { return double(table.values[size_t(at * table.columns + i)]); };
    counts.push_back({row(0), row(1), row(2), row(3)});
    for (int64_t at = 0; at < 4; ++at) {
      if (!std::isfinite(row(at)) || row(at) < 0) return {};
    }
  }
  return counts;
}

bool is_rates(const Table& table) { return table.plugin == "pr_curves" && table.rows == 6 && table.columns > 0; }

std::optional<Rates> rates_of(const Table& table, RateCurve curve) {
  if (!is_rates(table)) return std::nullopt;
  return curve == RateCurve::kRoc ? roc_of(table) : precision_recall_of(table);
}

LinePanel rate_panel(const std::string& title, RateCurve curve) {
  LinePanel panel{.title = title, .x = {0, 1}, .y = {0, 1}, .square = true};
  const bool roc = curve == RateCurve::kRoc;
  panel.title = (roc ? "True positive rate, " : "Precision, ") + title;
  panel.x_label = roc ? "false positive rate" : "recall";
  panel.diagonal = roc;
  return panel;
}

}  // namespace

std::optional<Rates> roc_of(const Table& table) {
  const std::vector<Counts> counts = counts_of(table);
  Rates rates{.points = {{0, 0}}};
  for (const Counts& at : counts) {
    const double positives = at.true_positives + at.false_negatives, negatives = at.false_positives + at.true_negatives;
    if (!(positives > 0) || !(negatives > 0)) return std::nullopt;
    rates.points.push_back({at.false_positives / negatives, at.true_positives / positives});
  }
  if (counts.empty()) return std::nullopt;
  rates.points.push_back({1, 1});
  for (size_t i = 1; i < rates.points.size(); ++i) {
    rates.area += (rates.points[i].x - rates.points[i - 1].x) * (rates.points[i].y + rates.points[i - 1].y) / 2;
  }
  return rates;
}

std::optional<Rates> precision_recall_of(const Table& table) {
  Rates rates;
  double recall_before = 0;
  for (const Counts& at : counts_of(table)) {
    const double positives = at.true_positives + at.false_negatives, chosen = at.true_positives + at.false_positives;
    if (!(positives > 0)) return std::nullopt;
    if (!(chosen > 0)) continue;
    const XY point{at.true_positives / positives, at.true_positives / chosen};
    rates.area += (point.x - recall_before) * point.y;
    recall_before = point.x;
    rates.points.push_back(point);
  }
  if (rates.points.empty()) return std::nullopt;
  return rates;
}

Result<Figure> draw_rates(const std::vector<RunToDraw>& runs, const std::vector<std::string>& tags, RateCurve curve) {
  std::set<Key> keys;
  for (const RunToDraw& run : runs) {
    for (const auto& [key, table] : run.history->tables) {
      if (is_rates(table.value)) keys.insert(key);
    }
  }
  Figure figure{.runs = coloured_runs(runs, {})};
  const std::vector<std::string> patterns = tags.empty() ? std::vector<std::string>{"*"} : tags;
  for (const Key& key : chosen_keys({keys.begin(), keys.end()}, patterns)) {
    LinePanel panel = rate_panel(clean_text(key.text()), curve);
    double best = -1;
    for (size_t i = 0; i < runs.size(); ++i) {
      const auto table = runs[i].history->tables.find(key);
      if (table == runs[i].history->tables.end()) continue;
      std::optional<Rates> rates = rates_of(table->second.value, curve);
      if (!rates) {
        panel.notes.push_back(runs[i].name + ": no curve can be made of its counts.");
        continue;
      }
      Line line{.run = i, .points = std::move(rates->points)};
      line.last = (curve == RateCurve::kRoc ? "AUC " : "average precision ") + short_number(rates->area);
      line.is_best = runs.size() > 1 && rates->area > best;
      // If this line has the largest area so far, no earlier line is the best one any more. If another line has the same
      // area, neither is the best one.
      if (rates->area >= best) {
        for (Line& other : panel.lines) other.is_best = false;
      }
      best = std::max(best, rates->area);
      panel.lines.push_back(std::move(line));
    }
    figure.lines.push_back(std::move(panel));
    if (figure.lines.size() > kRatePanelsMax)
      return invalid_argument("there are more than 64 panels to draw; choose some by --tag");
  }
  if (figure.lines.empty()) {
    return not_found(std::string("no run has curves of precision and recall") + (tags.empty() ? "" : " that fit --tag") +
                     "; evaluations write them where the model has such a metric");
  }
  return figure;
}

}  // namespace shoal::cli::plot
