// SPDX-License-Identifier: Apache-2.0
#include "plot/confusion.h"

#include <algorithm>
#include <cmath>

#include "plot/clean_text.h"
#include "shoal/base/format.h"
#include "shoal/base/number_text.h"

namespace shoal::cli::plot {
namespace {

constexpr int64_t kClassesMax = 1000;
constexpr size_t kMatricesMax = 64;
constexpr std::string_view kScalarMark = "confusion/";

/// The name of a scalar that holds one cell: "head/confusion/3/5" is row 3, column 5 of the matrix "head/confusion".
struct CellName {
  std::string matrix;
  int64_t label = 0, prediction = 0;
};

std::optional<CellName> cell_name(const std::string& tag) {
  const size_t mark = tag.rfind(kScalarMark);
  if (mark == std::string::npos || (mark > 0 && tag[mark - 1] != '/')) return std::nullopt;
  const std::string_view numbers = std::string_view(tag).substr(mark + kScalarMark.size());
  const size_t slash = numbers.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto label = number_from<int64_t>(numbers.substr(0, slash)),
             prediction = number_from<int64_t>(numbers.substr(slash + 1));
  if (!label || !prediction || *label < 0 || *prediction < 0 || *label >= kClassesMax || *prediction >= kClassesMax) {
    return std::nullopt;
  }
  return CellName{tag.substr(0, mark + kScalarMark.size() - 1), *label, *prediction};
}

struct ScalarCell {
  CellName name;
  Timed<double> count;
};

/// Makes a matrix from the cells of the newest step. A cell that the evaluation of that step did not write is 0.
Confusion matrix_of(const std::vector<ScalarCell>& cells) {
  Confusion matrix;
  for (const ScalarCell& cell : cells) {
    matrix.step = std::max(matrix.step, cell.count.step);
    matrix.classes = std::max(matrix.classes, int(std::max(cell.name.label, cell.name.prediction)) + 1);
  }
  matrix.counts.assign(size_t(matrix.classes) * size_t(matrix.classes), 0);
  for (const ScalarCell& cell : cells) {
    if (cell.count.step != matrix.step) continue;
    matrix.counts[size_t(cell.name.label) * size_t(matrix.classes) + size_t(cell.name.prediction)] = cell.count.value;
  }
  return matrix;
}

/// Counts are whole numbers, unless examples have weights.
std::string count_text(double count) {
  return std::isfinite(count) && count == std::floor(count) && std::abs(count) < 1e6 ? formatted("%.0f", count)
                                                                                     : short_number(count);
}

GridPanel confusion_panel(const std::string& title, const Confusion& matrix) {
  const int classes = matrix.classes;
  GridPanel panel{.title = title + ", step " + std::to_string(matrix.step),
                  .x_label = "prediction (across)",
                  .y_label = "label (down)"};
  panel.rows = panel.columns = classes;
  double right = 0, all = 0;
  for (int row = 0; row < classes; ++row) {
    const auto begin = matrix.counts.begin() + ptrdiff_t(row) * classes;
    double sum = 0;
    for (int column = 0; column < classes; ++column) sum += std::isfinite(begin[column]) ? begin[column] : 0;
    for (int column = 0; column < classes; ++column) {
      panel.shades.push_back(sum > 0 && std::isfinite(begin[column]) ? begin[column] / sum : 0);
      panel.texts.push_back(count_text(begin[column]));
    }
    right += begin[row];
    all += sum;
    panel.y_ticks.push_back({row + 0.5, std::to_string(row)});
    panel.x_ticks.push_back({row + 0.5, std::to_string(row)});
  }
  if (all > 0)
    panel.notes.push_back(count_text(right) + " of " + count_text(all) + " are right (" + short_number(100 * right / all) +
                          "%).");
  return panel;
}

bool fits_any(const std::string& name, const std::vector<std::string>& tags) {
  if (tags.empty()) return true;
  return !chosen_keys({Key{"", name}}, tags).empty();
}

}  // namespace

std::map<std::string, Confusion> confusions_of(const History& history) {
  std::map<std::string, std::vector<ScalarCell>> cells;
  for (const auto& [key, sequence] : history.scalars) {
    std::optional<CellName> name = cell_name(key.tag);
    if (!name || sequence.items().empty()) continue;
    const std::string matrix = Key{key.source, name->matrix}.text();
    cells[matrix].push_back({std::move(*name), sequence.items().back()});
  }
  std::map<std::string, Confusion> matrices;
  for (const auto& [name, of_matrix] : cells) matrices[name] = matrix_of(of_matrix);
  for (const auto& [key, table] : history.tables) {
    const Table& value = table.value;
    if (value.plugin != "shoal_confusion_matrix" || value.rows != value.columns || value.rows < 1 ||
        value.rows > kClassesMax)
      continue;
    matrices[key.text()] = {table.step, int(value.rows), {value.values.begin(), value.values.end()}};
  }
  return matrices;
}

Result<Figure> draw_confusions(const std::vector<RunToDraw>& runs, const std::vector<std::string>& tags) {
  Figure figure;
  for (const RunToDraw& run : runs) {
    for (const auto& [name, matrix] : confusions_of(*run.history)) {
      if (!fits_any(name, tags)) continue;
      if (figure.grids.size() == kMatricesMax)
        return invalid_argument("there are more than 64 matrices to draw; choose some by --tag");
      figure.grids.push_back(confusion_panel(clean_text(name) + (runs.size() > 1 ? " of " + run.name : ""), matrix));
    }
    figure.runs.push_back({run.name, figure.runs.size()});
  }
  if (figure.grids.empty()) {
    return not_found(std::string("no run has a confusion matrix") + (tags.empty() ? "" : " that fits --tag") +
                     "; evaluations write one where the model has the metric (metrics::confusion_matrix)");
  }
  figure.notes.push_back("Colours are shares of a row: of the examples that have the label.");
  return figure;
}

}  // namespace shoal::cli::plot
