// SPDX-License-Identifier: Apache-2.0
// Sums, means and maxima along axes, and argmax.
#include <algorithm>
#include <string>

#include "cpp/op_table.h"
#include "cpp/text.h"
#include "shoal/graph/axes.h"

namespace shoal::convert::cpp {
namespace {

/// One pass over [outer, rows, columns] that reduces the axis `rows`.
struct Stage {
  int64_t outer, rows, columns;
  int64_t elements() const { return outer * columns; }
};

/// Returns the passes that compute a reduction, that of the innermost axes first. Axes of size 1 need no pass. Neighbouring
/// axes that are all reduced, or all not reduced, are treated as one axis.
std::vector<Stage> stages_of(const Shape& shape, const std::vector<bool>& reduced) {
  struct Run {
    int64_t count;
    bool reduced;
  };
  std::vector<Run> runs;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] == 1) continue;
    if (!runs.empty() && runs.back().reduced == reduced[size_t(axis)]) {
      runs.back().count *= shape[axis];
    } else {
      runs.push_back({shape[axis], reduced[size_t(axis)]});
    }
  }
  std::vector<Stage> stages;
  int64_t columns = 1, before = shape.elements();
  for (size_t i = runs.size(); i-- > 0;) {
    before /= runs[i].count;
    if (runs[i].reduced) {
      stages.push_back({before, runs[i].count, columns});
    } else {
      columns *= runs[i].count;
    }
  }
  if (stages.empty()) stages.push_back({1, 1, shape.elements()});  // A reduction over no axis is a copy.
  return stages;
}

void write_stage(OpWriter& w, bool max, const Stage& stage, const std::string& x, const std::string& y) {
  const std::string outer = int_text(stage.outer), rows = int_text(stage.rows), columns = int_text(stage.columns);
  if (max) {
    if (stage.columns == 1) return w.call("max_rows", {x, y, outer, rows});
    return w.call("max_middle", {x, y, outer, rows, columns});
  }
  if (stage.columns == 1) {
    w.need("sum_row");
    return w.line("sum_rows(" + joined({x, y, outer, rows}) + ");");
  }
  const int64_t blocks = (stage.rows + 511) / 512;
  w.call("sum_middle",
         {x, y, outer, rows, columns, blocks > 1 ? w.scratch(DType::kFloat32, blocks * stage.columns) : "nullptr"});
}

void write_reduction(OpWriter& w) {
  const Shape& shape = w.input(0).shape;
  std::vector<bool> reduced(size_t(shape.rank()));
  for (const int64_t axis : reduced_axes(w.attributes(), shape.rank())) reduced[size_t(axis)] = true;
  const std::vector<Stage> stages = stages_of(shape, reduced);
  std::string x = w.in(0);
  for (size_t i = 0; i < stages.size(); ++i) {
    const std::string y = i + 1 == stages.size() ? w.out() : w.scratch(DType::kFloat32, stages[i].elements());
    write_stage(w, w.node().op == "reduce_max", stages[i], x, y);
    x = y;
  }
  if (w.node().op != "reduce_mean") return;
  const std::string divisor = float_text(float(shape.elements() / stages.back().elements()));
  write_loops(w, w.output().shape, {{w.out(), dense_strides(w.output().shape)}},
              [&](const std::vector<std::string>& e) { return e[0] + " /= " + divisor; });
}

void write_argmax(OpWriter& w) {
  const Shape& shape = w.input(0).shape;
  const int axis = int(w.attributes().get_int("axis", shape.rank() - 1));
  int64_t inner = 1;
  for (int a = axis + 1; a < shape.rank(); ++a) inner *= shape[a];
  const int64_t length = shape[axis];
  w.call("argmax", {w.in(0), w.out(), int_text(shape.elements() / length / inner), int_text(length), int_text(inner)});
}

void write_top_k(OpWriter& w) {
  w.call("top_k", {w.in(0), w.out(0), w.out(1), int_text(w.input(0).rows()), int_text(w.input(0).last_size()),
                   int_text(w.attributes().get_int("k"))});
}

}  // namespace

void add_reduction_rows(OpRows& rows) {
  for (const char* op : {"reduce_sum", "reduce_mean", "reduce_max"}) rows.add(op, {write_reduction});
  rows.add("argmax", {write_argmax});
  rows.add("top_k", {write_top_k});
}

}  // namespace shoal::convert::cpp
