// SPDX-License-Identifier: Apache-2.0
// Ops that look up, count, cross and check ids.
#include <string>

#include "cpp/op_table.h"
#include "cpp/text.h"

namespace shoal::convert::cpp {
namespace {

void write_gather(OpWriter& w) {
  const Shape& x = w.input(0).shape;
  const auto axis = int(w.attributes().get_int("axis"));
  int64_t outer = 1, inner = 1;
  for (int a = 0; a < x.rank(); ++a) (a < axis ? outer : inner) *= a == axis ? 1 : x[a];
  w.call("gather",
         {w.in(0), w.in(1), w.out(), int_text(outer), int_text(x[axis]), int_text(w.input(1).elements()), int_text(inner)},
         true);
}

void write_one_hot(OpWriter& w) {
  const Attributes& attributes = w.attributes();
  w.call("one_hot",
         {w.in(0), w.out(), int_text(w.input(0).elements()), int_text(attributes.get_int("depth")),
          float_text(float(attributes.get_real("on_value"))), float_text(float(attributes.get_real("off_value")))},
         true);
}

std::string weights_of(OpWriter& w) { return w.input_count() > 1 ? w.in(1) : "nullptr"; }

void write_multi_hot(OpWriter& w) {
  w.call("multi_hot",
         {w.in(0), weights_of(w), w.out(), int_text(w.input(0).rows()), int_text(w.input(0).last_size()),
          int_text(w.attributes().get_int("depth"))},
         true);
}

void write_bag_rows(OpWriter& w) {
  w.call("bag_rows", {w.in(0), weights_of(w), w.out(0), w.out(1), int_text(w.input(0).rows()),
                      int_text(w.input(0).last_size()), int_text(w.attributes().get_int("combiner"))});
}

void write_bucketize(OpWriter& w) {
  w.call("bucketize", {w.in(0), w.in(1), w.out(), int_text(w.input(0).elements()), int_text(w.input(0).last_size()),
                       int_text(w.input(1).elements()), int_text(w.attributes().get_int("spacing")),
                       int_text(w.attributes().get_int("missing_id"))});
}

void write_default_ids(OpWriter& w) {
  w.call("default_ids", {w.in(0), w.out(), int_text(w.input(0).elements()), int_text(w.attributes().get_int("lowest", -1)),
                         int_text(w.attributes().get_int("depth")), int_text(w.attributes().get_int("otherwise"))});
}

void write_check_range(OpWriter& w) {
  const Attributes& attributes = w.attributes();
  w.may_write_over(0);
  w.call("all_in_range",
         {w.in(0), int_text(w.input(0).elements()), double_text(attributes.get_real("low")),
          double_text(attributes.get_real("high")), attributes.get_bool("whole") ? "true" : "false"},
         true);
  const std::vector<int64_t> strides = dense_strides(w.output().shape);
  write_loops(w, w.output().shape, {{w.out(), strides}, {w.in(0), strides}},
              [](const std::vector<std::string>& e) { return e[0] + " = " + e[1]; });
}

void write_cross_ids(OpWriter& w) {
  const int64_t combinations = w.output().last_size(), rows = w.output().elements() / combinations;
  std::vector<std::string> lists, lengths;
  for (size_t i = 0; i < w.input_count(); ++i) {
    lists.push_back(w.in(i));
    lengths.push_back(int_text(w.input(i).elements() / rows));
  }
  const std::string bytes = w.scratch(DType::kUInt8, 8 * int64_t(w.input_count())), y = w.out();
  w.need("cross_ids");
  w.line("{");
  w.line("  const std::int64_t* const lists[] = {" + joined(lists) + "};");
  w.line("  const Size lengths[] = {" + joined(lengths) + "};");
  w.line("  cross_ids(" +
         joined({"lists", "lengths", int_text(int64_t(w.input_count())), y, int_text(rows), int_text(combinations),
                 int_text(w.attributes().get_int("buckets")), bytes}) +
         ");");
  w.line("}");
}

}  // namespace

void add_id_rows(OpRows& rows) {
  rows.add("gather", {write_gather});
  rows.add("one_hot", {write_one_hot});
  rows.add("multi_hot", {write_multi_hot});
  rows.add("bag_rows", {write_bag_rows});
  rows.add("bucketize", {write_bucketize});
  rows.add("default_ids", {write_default_ids});
  rows.add("check_range", {write_check_range});
  rows.add("cross_ids", {write_cross_ids});
}

}  // namespace shoal::convert::cpp
