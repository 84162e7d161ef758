// SPDX-License-Identifier: Apache-2.0
// Dense layers and matrix products. The order of each sum follows from the sizes alone, as in the backend `portable`.
#include <algorithm>
#include <string>
#include <utility>

#include "cpp/op_table.h"
#include "cpp/text.h"

namespace shoal::convert::cpp {
namespace {

constexpr int64_t kFewRows = 4;        // For up to this many rows of x, the generated code calls dense_few_rows.
constexpr int64_t kSmallBatch = 32;    // For up to this many rows of x, it calls dense_small_batch or dense_shallow.
constexpr int64_t kDepthBlock = 1024;  // The most inputs whose products dense_small_batch adds up at a time.

struct ProductSizes {
  int64_t rows, out, in;
};

/// The operands of a product as text; bias may be "nullptr".
struct ProductText {
  std::string x, w, bias, y;
};

std::string strides_text(int64_t down, int64_t right) { return "{" + int_text(down) + ", " + int_text(right) + "}"; }

/// Writes y[rows, out] = x[rows, in] w[out, in]^T + bias.
void write_dense_product(OpWriter& w, const ProductText& text, const ProductSizes& sizes) {
  const auto& [rows, out, in] = sizes;
  const std::vector<std::string> arguments{text.x, text.w, text.bias, text.y, int_text(rows), int_text(out), int_text(in)};
  if (rows <= kFewRows) return w.call("dense_few_rows", arguments);
  if (rows <= kSmallBatch && in >= 16) {
    const int64_t blocks = (in + kDepthBlock - 1) / kDepthBlock;
    auto with_depth = arguments;
    with_depth.push_back(int_text((in + blocks * 16 - 1) / (blocks * 16) * 16));
    return w.call("dense_small_batch", with_depth);
  }
  if (rows <= kSmallBatch && in >= 8) return w.call("dense_shallow", arguments);
  if (out == 1) return w.call("dense_few_rows", arguments);
  w.call("multiply_chain", {text.x, strides_text(in, 1), text.w, strides_text(1, in), text.bias, text.y, int_text(rows),
                            int_text(in), int_text(out), "false"});
}

void write_dense(OpWriter& w) {
  const Shape& kernel = w.input(1).shape;
  const std::string bias = w.input_count() > 2 ? w.in(2) : "nullptr";
  write_dense_product(w, {w.in(0), w.in(1), bias, w.out()}, {w.input(0).rows(), kernel[0], kernel[1]});
  write_fused_relu(w);
}

/// An operand of a matrix product: the number of its matrices, and the sizes and strides of each after transposition.
struct Matrices {
  int64_t rows, columns, down, right, count, elements;
  bool transposed;

  Matrices(const Shape& shape, bool transposed_)
      : rows(shape[shape.rank() - 2]),
        columns(shape[shape.rank() - 1]),
        down(columns),
        right(1),
        count(shape.elements() / (rows * columns)),
        elements(rows * columns),
        transposed(transposed_) {
    if (!transposed) return;
    std::swap(rows, columns);
    std::swap(down, right);
  }
};

/// Writes one product of two matrices as a dense layer, or as one of its gradients. Returns false if the product is
/// neither.
bool write_single_product(OpWriter& w, const Matrices& a, const Matrices& b) {
  if (a.transposed && b.transposed) return false;
  const std::string left = w.in(0), right = w.in(1), y = w.out();
  if (b.transposed) {
    write_dense_product(w, {left, right, "nullptr", y}, {a.rows, b.columns, a.columns});
    return true;
  }
  if (!a.transposed) {
    const int64_t blocks = a.rows <= kFewRows                                 ? std::clamp<int64_t>(a.columns / 64, 1, 16)
                           : a.rows <= kSmallBatch && a.columns >= 8 * a.rows ? 4
                                                                              : 1;
    w.call("multiply_blocks",
           {left, right, y, int_text(a.rows), int_text(a.columns), int_text(b.columns), int_text(blocks)});
    return true;
  }
  const bool from_product = a.columns <= kFewRows;
  w.call("multiply_chain", {left, strides_text(a.down, a.right), right, strides_text(b.down, b.right), "nullptr", y,
                            int_text(a.rows), int_text(a.columns), int_text(b.columns), from_product ? "true" : "false"});
  return true;
}

void write_matmul(OpWriter& w) {
  Matrices a(w.input(0).shape, w.attributes().get_bool("transpose_a"));
  const Matrices b(w.input(1).shape, w.attributes().get_bool("transpose_b"));
  int64_t count = w.output().elements() / (a.rows * b.columns);
  if (b.count == 1 && !a.transposed) {  // The matrices of a, stored one after the other, form one matrix.
    a.rows *= std::exchange(a.count, 1);
    count = 1;
  }
  if (count == 1 && write_single_product(w, a, b)) return;
  const auto at = [](const std::string& pointer, int64_t elements, bool moves) {
    return moves ? pointer + " + i * " + int_text(elements) : pointer;
  };
  w.line_before("for (Size i = 0; i < " + int_text(count) + "; ++i)");
  w.call("multiply_chain",
         {at(w.in(0), a.elements, a.count > 1), strides_text(a.down, a.right), at(w.in(1), b.elements, b.count > 1),
          strides_text(b.down, b.right), "nullptr", at(w.out(), a.rows * b.columns, count > 1), int_text(a.rows),
          int_text(a.columns), int_text(b.columns), "false"});
}

}  // namespace

void add_product_rows(OpRows& rows) {
  rows.add("dense", {write_dense});
  rows.add("matmul", {write_matmul});
}

}  // namespace shoal::convert::cpp
