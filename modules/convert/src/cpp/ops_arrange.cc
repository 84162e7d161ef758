// SPDX-License-Identifier: Apache-2.0
// Ops that move elements, and ops that repeat elements.
#include <cstring>
#include <string>

#include "cpp/op_table.h"
#include "cpp/text.h"
#include "shoal/graph/op.h"

namespace shoal::convert::cpp {
namespace {

/// Writes code that copies an array of `shape` from `from` to `to`. At least one of the two is dense.
void write_copy(OpWriter& w, const Shape& shape, const LoopOperand& to, const LoopOperand& from) {
  write_loops(w, shape, {to, from}, [](const std::vector<std::string>& e) { return e[0] + " = " + e[1]; });
}

void write_transpose(OpWriter& w) {
  const auto& permutation = w.attributes().get_ints("permutation");
  const std::vector<int64_t> from = dense_strides(w.input(0).shape);
  LoopOperand x{w.in(0), {}};
  for (const int64_t axis : permutation) x.strides.push_back(from[size_t(axis)]);
  write_copy(w, w.output().shape, {w.out(), dense_strides(w.output().shape)}, x);
}

void write_concat(OpWriter& w) {
  const auto axis = int(w.attributes().get_int("axis"));
  const std::vector<int64_t> strides = dense_strides(w.output().shape);
  int64_t begin = 0;
  for (size_t i = 0; i < w.input_count(); ++i) {
    const Shape& piece = w.input(i).shape;
    write_copy(w, piece, {w.out(), strides, begin * strides[size_t(axis)]}, {w.in(i), dense_strides(piece)});
    begin += piece[axis];
  }
}

void write_split(OpWriter& w) {
  const auto axis = int(w.attributes().get_int("axis"));
  const std::vector<int64_t> strides = dense_strides(w.input(0).shape);
  int64_t begin = 0;
  for (size_t i = 0; i < w.output_count(); ++i) {
    const Shape& piece = w.output(i).shape;
    if (w.is_used(i))
      write_copy(w, piece, {w.out(i), dense_strides(piece)}, {w.in(0), strides, begin * strides[size_t(axis)]});
    begin += piece[axis];
  }
}

void write_slice(OpWriter& w) {
  LoopOperand x{w.in(0), dense_strides(w.input(0).shape)};
  const auto &begins = w.attributes().get_ints("begin"), &strides = w.attributes().get_ints("stride");
  for (size_t axis = 0; axis < begins.size(); ++axis) {
    x.first += begins[axis] * x.strides[axis];
    x.strides[axis] *= strides[axis];
  }
  write_copy(w, w.output().shape, {w.out(), dense_strides(w.output().shape)}, x);
}

/// The text of the element that "pad" puts around x.
std::string padding_text(DType dtype, double value) {
  const auto element = padding_element(dtype, value);
  const std::string list = array_text(type_text(dtype), std::span(element).first(size_of(dtype)));  // "{\n    0x1p+0f}"
  const size_t begin = list.find_first_not_of("{\n ");
  return list.substr(begin, list.size() - 1 - begin);
}

void write_pad(OpWriter& w) {
  const Shape& whole = w.output().shape;
  const LoopOperand all{w.out(), dense_strides(whole)};
  const std::string value = padding_text(w.output().dtype, w.attributes().get_real("value"));
  write_loops(w, whole, {all}, [&](const std::vector<std::string>& e) { return e[0] + " = " + value; });
  LoopOperand inside = all;
  const auto& before = w.attributes().get_ints("before");
  for (size_t axis = 0; axis < before.size(); ++axis) inside.first += before[axis] * inside.strides[axis];
  write_copy(w, w.input(0).shape, inside, {w.in(0), dense_strides(w.input(0).shape)});
}

/// broadcast_like: x is broadcast to the result; with the attribute "axes", x lacks these axes of the result.
void write_broadcast_like(OpWriter& w) {
  const Shape &whole = w.output().shape, &part = w.input(0).shape;
  LoopOperand x{w.in(0), {}};
  if (!w.attributes().has("axes")) {
    x.strides = broadcast_strides(whole, part);
  } else {
    const auto& axes = w.attributes().get_ints("axes");
    x.strides.resize(size_t(whole.rank()));
    int64_t stride = 1;
    for (int axis = whole.rank(); axis-- > 0;) {
      bool without = false;
      for (const int64_t other : axes) without = without || other == axis;
      if (without) continue;
      x.strides[size_t(axis)] = stride;
      stride *= whole[axis];
    }
  }
  write_copy(w, whole, {w.out(), dense_strides(whole)}, x);
}

void write_fill_like(OpWriter& w) {
  const Shape& whole = w.output().shape;
  write_copy(w, whole, {w.out(), dense_strides(whole)}, {w.in(0), std::vector<int64_t>(size_t(whole.rank()))});
}

}  // namespace

void add_arrange_rows(OpRows& rows) {
  rows.add("transpose", {write_transpose});
  rows.add("concat", {write_concat});
  rows.add("split", {write_split});
  rows.add("slice", {write_slice});
  rows.add("pad", {write_pad});
  rows.add("broadcast_like", {write_broadcast_like});
  rows.add("fill_like", {write_fill_like});
}

}  // namespace shoal::convert::cpp
