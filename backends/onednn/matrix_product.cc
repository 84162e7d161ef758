// SPDX-License-Identifier: Apache-2.0
#include "matrix_product.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <string_view>

#include "threads.h"

namespace shoal::backends::onednn {
namespace {

using dnnl::memory;

enum class Axis { kBatch, kRows, kColumns };

/// A part of a product: the range [begin, end) of one axis, and all of the other axes.
struct Range {
  Axis axis;
  int64_t begin, end;
};

/// A part of a matrix or of a batch of matrices, described by sizes and strides, without a copy.
struct Part {
  memory::dims sizes, strides;
  int64_t offset = 0;  // Where the part begins, in elements.
  memory::desc of(memory::data_type type) const { return {sizes, type, strides}; }
  int64_t offset_bytes(memory::data_type type) const { return offset * int64_t(memory::data_type_size(type)); }

  /// Returns a part of the same sizes in separate memory, without gaps. Rows are contiguous.
  Part compact() const {
    Part part{sizes, strides};
    for (size_t axis = sizes.size() - 1; axis-- > 0;) part.strides[axis] = part.strides[axis + 1] * sizes[axis + 1];
    return part;
  }
  int64_t rows() const { return std::accumulate(sizes.begin(), sizes.end() - 1, int64_t(1), std::multiplies<>()); }

  void cut(size_t axis, int64_t begin, int64_t end) {
    sizes[axis] = end - begin;
    offset += begin * strides[axis];
  }
};

Part whole(const Matrices& m) {
  Part part{{m.rows, m.columns}, {m.transposed ? 1 : m.columns, m.transposed ? m.rows : 1}};
  if (!m.batch) return part;
  part.sizes.insert(part.sizes.begin(), *m.batch);
  part.strides.insert(part.strides.begin(), m.rows * m.columns);
  return part;
}

/// Returns the part of `m`, a factor or the result of a product, that belongs to `range` of the result. `has_rows`: true
/// for the left factor and the result, whose rows are cut with the rows of the result. `has_columns`: true for the right
/// factor and the result, whose columns are cut with the columns of the result.
Part part_of(const Matrices& m, const Range& range, bool has_rows, bool has_columns) {
  Part part = whole(m);
  const size_t rows = part.sizes.size() - 2;
  if (range.axis == Axis::kBatch && m.batch.value_or(1) > 1) part.cut(0, range.begin, range.end);
  if (range.axis == Axis::kRows && has_rows) part.cut(rows, range.begin, range.end);
  if (range.axis == Axis::kColumns && has_columns) part.cut(rows + 1, range.begin, range.end);
  return part;
}

std::vector<Range> equal_ranges(Axis axis, int64_t size, int64_t together, int64_t parts) {
  std::vector<Range> ranges;
  for (int64_t i = 0; i < parts; ++i) {
    const int64_t begin = size / together * i / parts * together;
    ranges.push_back({axis, begin, i + 1 == parts ? size : size / together * (i + 1) / parts * together});
  }
  return ranges;
}

using Division = std::vector<Range>;

/// Returns the number of parts, one for each thread, into which the product should be divided.
int parts_for(int threads, const MatrixProduct& product) {
  // team_for() takes the cost in bytes of memory traffic: two multiplications take as long as moving one byte.
  return team_for(threads, product.c.elements() * product.a.columns / 2);
}

/// Returns the ways to divide a product as equally as its tiles allow. The best way comes first: the one in which each
/// thread reads the least.
std::vector<Division> divisions(int parts, const MatrixProduct& product) {
  constexpr int64_t kRowsTogether = 4, kColumnsTogether = 16, kEvenEnough = 8;
  const Matrices &a = product.a, &b = product.b, &c = product.c;
  const int64_t batch = c.batch.value_or(1);
  std::vector<Division> found;
  if (batch >= parts && (batch % parts == 0 || batch >= kEvenEnough * parts)) {
    found.push_back(equal_ranges(Axis::kBatch, batch, 1, parts));
  }
  if (c.columns >= kColumnsTogether * parts)
    found.push_back(equal_ranges(Axis::kColumns, c.columns, kColumnsTogether, parts));
  if (c.rows >= kRowsTogether * parts) {
    const bool first = found.empty() || (found.back()[0].axis == Axis::kColumns && b.elements() <= a.elements());
    found.insert(first ? found.begin() : found.end(), equal_ranges(Axis::kRows, c.rows, kRowsTogether, parts));
  }
  return found;
}

constexpr std::string_view kGemm = "gemm";

bool is_gemm(const dnnl::matmul::primitive_desc& description) {
  return std::string_view(description.impl_info_str()).starts_with(kGemm);
}

/// A part of a product as it is described to oneDNN.
struct ProductPart {
  Part a, b, c, bias;
  bool apart = false;  ///< True if c is computed in separate memory without gaps, and then copied to its place.
  dnnl::matmul::primitive_desc description = {};

  Part made() const { return apart ? c.compact() : c; }
};

ProductPart describe_part(const Context& context, const MatrixProduct& product, const Range& range, bool apart = false) {
  ProductPart part{.a = part_of(product.a, range, true, false),
                   .b = part_of(product.b, range, false, true),
                   .c = part_of(product.c, range, true, true),
                   .bias = part_of({1, product.c.columns}, range, false, true),
                   .apart = apart};
  const memory::desc a = part.a.of(context.factors), b = part.b.of(context.factors), c = part.made().of(kFloat);
  const memory::desc bias = part.bias.of(kFloat);
  const std::string_view preferred = product.prefers_gemm ? kGemm : "";
  part.description = product.bias_input
                         ? describe_preferring<dnnl::matmul>(preferred, context.engine, user_scratchpad(), a, b, bias, c)
                         : describe_preferring<dnnl::matmul>(preferred, context.engine, user_scratchpad(), a, b, c);
  return part;
}

ProductPart describe_whole(const Context& context, const MatrixProduct& product) {
  return describe_part(context, product, {Axis::kRows, 0, product.c.rows});
}

/// Describes all parts with the same `implementation`, since another one may sum in another order. Returns nothing if
/// oneDNN does not offer this implementation for one of the parts.
std::vector<ProductPart> describe_division(const Context& context, const MatrixProduct& product, const Division& division,
                                           std::string_view implementation, bool apart) {
  std::vector<ProductPart> parts;
  for (const Range& range : division) {
    ProductPart part = describe_part(context, product, range, apart);
    if (!usable(part.description) || part.description.impl_info_str() != implementation) return {};
    parts.push_back(std::move(part));
  }
  return parts;
}

/// True if it is better to divide the columns of c, and to copy each part of c to its place, than to divide the rows of c.
/// If the rows are divided, each core reads all of b, and has to fetch all of it again after each update of b.
bool worth_a_copy(const Division& division, const MatrixProduct& product) {
  return division[0].axis == Axis::kColumns && product.b.elements() >= 2 * product.c.elements();
}

/// Divides the product into `count` parts. oneDNN 2.6's brgemm cannot write rows with gaps between them, so a part that
/// consists of columns of c is computed in separate memory without gaps, and then copied.
std::vector<ProductPart> divide(const Context& context, const MatrixProduct& product, std::string_view implementation,
                                int count) {
  for (const Division& division : divisions(count, product)) {
    for (const bool apart : {false, true}) {
      if (apart && !worth_a_copy(division, product)) continue;
      std::vector<ProductPart> parts = describe_division(context, product, division, implementation, apart);
      if (!parts.empty()) return parts;
    }
  }
  return {};
}

/// Chooses an implementation by the product alone, so that the bits of the result do not depend on the number of threads.
/// This is oneDNN's first choice if that can be divided into parts. Else it is oneDNN's gemm, which can be divided and is
/// about as fast (0.7 to 1.2 times, AMD EPYC). Empty if oneDNN has no fast implementation.
std::vector<ProductPart> describe_parts(const Context& context, MatrixProduct product) {
  ProductPart whole = describe_whole(context, product);
  if (!usable(whole.description)) return {};
  if (parts_for(2, product) == 2 && !is_gemm(whole.description) &&
      divide(context, product, whole.description.impl_info_str(), 2).empty()) {
    product.prefers_gemm = true;
    whole = describe_whole(context, product);
  }
  for (int count = parts_for(context.threads, product); count > 1; --count) {
    std::vector<ProductPart> parts = divide(context, product, whole.description.impl_info_str(), count);
    if (!parts.empty()) return parts;
  }
  return {std::move(whole)};
}

}  // namespace

memory::desc Matrices::of(memory::data_type type) const { return whole(*this).of(type); }

std::unique_ptr<PrimitiveKernel> make_matrix_product(const Context& context, const MatrixProduct& product,
                                                     bool b_is_variable) {
  const std::vector<ProductPart> parts = describe_parts(context, product);
  if (parts.empty()) return nullptr;
  auto kernel = std::make_unique<PrimitiveKernel>(context);
  const memory::data_type type = context.factors;
  const Operand a = kernel->input_as(0, product.a.of(kFloat), product.a.of(type));
  const Operand b = kernel->variable_as(1, b_is_variable, product.b.of(kFloat), product.b.of(type));
  kernel->begin_step();
  for (const ProductPart& part : parts) {
    const Part made = part.made();
    const Operand place = part.apart ? kernel->reserve_scratch(made.of(kFloat)) : output(0);
    std::vector<Argument> arguments{{DNNL_ARG_SRC, part.a.of(type), a, part.a.offset_bytes(type)},
                                    {DNNL_ARG_WEIGHTS, part.b.of(type), b, part.b.offset_bytes(type)},
                                    {DNNL_ARG_DST, made.of(kFloat), place, part.apart ? 0 : made.offset_bytes(kFloat)}};
    if (product.bias_input) {
      arguments.push_back(
          {DNNL_ARG_BIAS, part.bias.of(kFloat), input(*product.bias_input), part.bias.offset_bytes(kFloat)});
    }
    kernel->add_piece<dnnl::matmul>(part.description, std::move(arguments));
    if (!part.apart) continue;
    constexpr int64_t kSize = sizeof(float);
    kernel->copy_after_piece({.from = place,
                              .offset_bytes = part.c.offset_bytes(kFloat),
                              .rows = part.c.rows(),
                              .row_bytes = part.c.sizes.back() * kSize,
                              .stride_bytes = *(part.c.strides.end() - 2) * kSize});
  }
  return kernel;
}

}  // namespace shoal::backends::onednn
