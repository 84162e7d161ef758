// SPDX-License-Identifier: Apache-2.0
// Dense layers on plain weights [out, in], with separate loops for few rows and for small batches; all others use packed
// panels (panels.h).
// An operand [..., features] is taken as a matrix; its number of rows is the product of all sizes but the last.
#include <algorithm>

#include "dense.h"
#include "few_rows.h"
#include "matrix.h"
#include "product_code.h"
#include "products.h"
#include "shoal/base/vector_loop.h"
#include "small_batch.h"
#include "sources.h"
#include "threads.h"

namespace shoal::backends::portable {
namespace {

int64_t weight_bytes(const FewRows& sizes) { return sizes.out * sizes.in * int64_t(sizeof(float)); }

std::unique_ptr<Kernel> make_few_rows_dense(const KernelRequest& request, const FewRows& sizes) {
  const bool biased = request.inputs.size() > 2, activate = fused_relu(request);
  return make_loop([sizes, biased, activate, threads = request.threads](const KernelCall& call) {
    const float *x = floats(call.inputs[0]), *w = floats(call.inputs[1]);
    const float* const bias = biased ? floats(call.inputs[2]) : nullptr;
    float* const y = floats(call.outputs[0]);
    parallel_for(threads, sizes.out, weight_bytes(sizes),
                 [&](int64_t first, int64_t last) { product_code().few_rows_dense(sizes, x, w, bias, y, first, last); });
    if (activate) relu(threads, y, y, sizes.rows * sizes.out);
    return Result<void>();
  });
}

/// A layer with one output is computed as a layer with one row: w is the row, and the rows of x are the weights.
std::unique_ptr<Kernel> make_one_output_dense(const KernelRequest& request, int64_t rows, int64_t in) {
  const bool biased = request.inputs.size() > 2, activate = fused_relu(request);
  const FewRows swapped{1, rows, in};
  return make_loop([=, threads = request.threads](const KernelCall& call) {
    const float *x = floats(call.inputs[0]), *w = floats(call.inputs[1]);
    const float* const bias = biased ? floats(call.inputs[2]) : nullptr;
    float* const y = floats(call.outputs[0]);
    parallel_for(threads, rows, weight_bytes(swapped), [&](int64_t first, int64_t last) {
      product_code().few_rows_dense(swapped, w, x, nullptr, y, first, last);
      finish_rows(y + first, 1, last - first, 1, bias, activate);
    });
    return Result<void>();
  });
}

std::unique_ptr<Kernel> make_few_rows_grad_input(int threads, const FewRows& sizes) {
  const int64_t blocks = few_rows_blocks(sizes.out), size = sizes.rows * sizes.in;
  const auto run = [=](const KernelCall& call) {
    const float *dy = floats(call.inputs[0]), *w = floats(call.inputs[1]);
    float* const dx = floats(call.outputs[0]);
    float* const partials = blocks > 1 ? reinterpret_cast<float*>(call.scratch) : dx;
    parallel_for(threads, blocks, weight_bytes(sizes), [&](int64_t first, int64_t last) {
      for (int64_t b = first; b < last; ++b) {
        product_code().few_rows_grad_input(sizes, dy, w, partials + b * size, sizes.out * b / blocks,
                                           sizes.out * (b + 1) / blocks);
      }
    });
    if (blocks > 1) sum_arrays(partials, blocks, size, size, dx);
    return Result<void>();
  };
  return make_loop(run, blocks > 1 ? size_t(blocks * size) * sizeof(float) : 0);
}

std::unique_ptr<Kernel> make_small_batch_dense(const KernelRequest& request, int64_t batch, int64_t out, int64_t in) {
  const bool biased = request.inputs.size() > 2, activate = fused_relu(request);
  return make_loop([=, threads = request.threads](const KernelCall& call) {
    const SmallBatch product{.rows = batch,
                             .out = out,
                             .in = in,
                             .x = floats(call.inputs[0]),
                             .w = floats(call.inputs[1]),
                             .bias = biased ? floats(call.inputs[2]) : nullptr,
                             .y = floats(call.outputs[0]),
                             .relu = activate};
    const int64_t together = out >= int64_t(16) * threads ? 16 : 4;  // Columns of y per chunk: a cache line (16) or a tile.
    parallel_chunks(threads, out, together, product_bytes(batch, out, in), [&](int, Chunks& chunks) {
      for (int64_t first, last; chunks.next(first, last);) product_code().small_batch_dense(product, first, last);
    });
    return Result<void>();
  });
}

/// A matrix product of inputs 0 (a) and 1 (b), plus the bias in input 2, if there is one.
class MatrixKernel final : public Kernel {
 public:
  MatrixKernel(const MatrixPlan& plan, int64_t a_stride, Strided b, int64_t c_stride, bool relu)
      : plan_(plan), b_(b), a_stride_(a_stride), c_stride_(c_stride), relu_(relu) {}

  Result<void> run(const KernelCall& call) override {
    plan_.run({.a = {floats(call.inputs[0]), a_stride_},
               .b = {floats(call.inputs[1]), b_.row_stride, b_.column_stride},
               .c = floats(call.outputs[0]),
               .c_stride = c_stride_,
               .bias = call.inputs.size() > 2 ? floats(call.inputs[2]) : nullptr,
               .relu = relu_},
              call.scratch, call.thread_scratch);
    return {};
  }
  size_t scratch_bytes() const override { return plan_.shared_bytes(); }
  size_t thread_scratch_bytes() const override { return plan_.own_bytes(); }
  std::string implementation() const override { return "portable: panels"; }

 private:
  MatrixPlan plan_;
  Strided b_;  // Only its strides are used.
  int64_t a_stride_, c_stride_;
  bool relu_;
};

}  // namespace

std::unique_ptr<Kernel> dense_product(const KernelRequest& request, const DenseSizes& sizes) {
  const auto& [rows, out, in] = sizes;
  if (rows <= kFewRows) return make_few_rows_dense(request, {rows, out, in});
  if (small_batch_takes(rows, in)) return make_small_batch_dense(request, rows, out, in);
  if (out == 1) return make_one_output_dense(request, rows, in);
  return std::make_unique<MatrixKernel>(MatrixPlan(request.threads, rows, in, out), in, Strided{nullptr, 1, in}, out,
                                        fused_relu(request));
}

std::unique_ptr<Kernel> make_dense(const KernelRequest& request) {
  if (!all_float32(request) || !none_empty(request)) return nullptr;
  const Shape& w = request.inputs[1].shape;
  return dense_product(request, {rows_of(request.inputs[0]), w[0], w[1]});
}

namespace {

/// Computes dx = dy w for small batches. Threads divide w by its rows. The kernel of dW and the update of w divide w in the
/// same way, so each core has most of its rows of w in its own cache. If threads divided w by columns here, each of two
/// cores would have to read half of its weights from the other core's cache, and the update would move them back (a
/// training step of the MLP took a tenth longer). Whatever the number of threads, there are kBlocks blocks of rows, and the
/// sums of the blocks are added up.
class SmallBatchGradInput final : public Kernel {
 public:
  SmallBatchGradInput(int threads, const DenseSizes& sizes)
      : threads_(threads), sizes_(sizes), parts_((threads + kBlocks - 1) / kBlocks) {}

  /// True if w is so much larger than dx that adding up one partial dx for each block of rows costs little.
  static bool takes(const DenseSizes& sizes) { return sizes.rows <= 32 && sizes.out >= 8 * sizes.rows; }

  Result<void> run(const KernelCall& call) override {
    float* const partials = reinterpret_cast<float*>(call.scratch);
    const int64_t units = kBlocks * parts_, bytes = product_bytes(sizes_.rows, sizes_.out, sizes_.in);
    parallel_chunks(threads_, units, (units + threads_ - 1) / threads_, bytes, [&](int thread, Chunks& chunks) {
      float* const panels = reinterpret_cast<float*>(call.thread_scratch.of(thread));
      for (int64_t unit, end; chunks.next(unit, end);) {
        for (; unit < end; ++unit) add_block(call, unit / parts_, unit % parts_, panels, partials);
      }
    });
    float* const dx = floats(call.outputs[0]);
    parallel_for(threads_, size(), size() * (kBlocks + 1) * kFloatBytes, [&](int64_t begin, int64_t end) {
      sum_arrays(partials + begin, kBlocks, size(), end - begin, dx + begin);
    });
    return {};
  }
  size_t scratch_bytes() const override { return size_t(kBlocks * size() * kFloatBytes); }
  size_t thread_scratch_bytes() const override { return size_t(kDepthTogether * kColumnsTogether * kFloatBytes); }
  std::string implementation() const override { return "portable: small batch"; }

 private:
  static constexpr int64_t kBlocks = 4;
  // Two panels with this many rows stay in the first-level cache.
  static constexpr int64_t kDepthTogether = 128, kColumnsTogether = 2 * kPanelColumns;

  int64_t size() const { return sizes_.rows * sizes_.in; }

  /// Computes some columns of one block's contribution to dx; a block consists of rows of w.
  void add_block(const KernelCall& call, int64_t block, int64_t part, float* panels, float* partials) const {
    const auto& [rows, out, in] = sizes_;
    const float *dy = floats(call.inputs[0]), *w = floats(call.inputs[1]);
    const int64_t first = out * block / kBlocks, last = out * (block + 1) / kBlocks;
    const int64_t together = rounded_up((in + parts_ - 1) / parts_, kColumnsTogether);
    const int64_t begin = std::min(part * together, in), end = std::min(begin + together, in), ahead = columns_ahead(rows);
    for (int64_t row = first; row < last; row += kDepthTogether) {
      const int64_t depth = std::min(kDepthTogether, last - row);
      for (int64_t column = begin; column < end; column += kColumnsTogether) {
        const int64_t columns = std::min(kColumnsTogether, end - column), next = column + kColumnsTogether;
        pack({w + row * in + column, in}, depth, columns, 1.0f, panels);
        multiply({.a = {dy + row, out},
                  .packed = panels,
                  .c = partials + block * size() + column,
                  .c_stride = in,
                  .rows = rows,
                  .depth = depth,
                  .columns = columns,
                  .accumulate = row > first,
                  .ahead = next + ahead <= end ? w + row * in + next : nullptr,
                  .ahead_stride = in});
      }
    }
  }

  int threads_;
  DenseSizes sizes_;
  int64_t parts_;  // How many parts the columns of w have: more than 1 if threads outnumber blocks.
};

}  // namespace

std::unique_ptr<Kernel> dense_input_product(const KernelRequest& request, const DenseSizes& sizes) {
  const auto& [rows, out, in] = sizes;
  if (rows <= kFewRows) return make_few_rows_grad_input(request.threads, {rows, out, in});
  if (SmallBatchGradInput::takes(sizes)) return std::make_unique<SmallBatchGradInput>(request.threads, sizes);
  return std::make_unique<MatrixKernel>(MatrixPlan(request.threads, rows, out, in), out, Strided{nullptr, in}, in, false);
}

std::unique_ptr<Kernel> make_dense_grad_input(const KernelRequest& request) {
  if (!all_float32(request) || !none_empty(request)) return nullptr;
  const Shape& w = request.inputs[1].shape;
  return dense_input_product(request, {rows_of(request.inputs[0]), w[0], w[1]});
}

namespace {

/// Computes dW = dy^T x for few rows. Without a RowSink, each row of dW is written to its own place. With a RowSink, which
/// takes rows of dW as soon as they are computed, each thread computes a few rows at a time and passes them to the sink
/// while they are in the first-level cache. It reuses the memory of its first rows of dW for all its rows.
class FewRowsGradKernel final : public Kernel {
 public:
  FewRowsGradKernel(int threads, const FewRows& sizes) : threads_(threads), sizes_(sizes) {}

  Result<void> run(const KernelCall& call) override {
    const float *dy = floats(call.inputs[0]), *x = floats(call.inputs[1]);
    const int64_t bytes = weight_bytes(sizes_) * (call.sink ? 4 : 1);
    constexpr int64_t kTogetherBytes = 16 << 10;
    const int64_t together = std::max<int64_t>(1, kTogetherBytes / (sizes_.in * int64_t(sizeof(float))));
    parallel_for(threads_, sizes_.out, bytes, [&](int64_t begin, int64_t end) {
      float* const c = floats(call.outputs[0]) + begin * sizes_.in;
      const int64_t step = call.sink ? together : end - begin;
      for (int64_t row = begin; row < end; row += step) {
        const int64_t rows_end = std::min(row + step, end);
        product_code().few_rows_grad_kernel(sizes_, dy, x, c, row, rows_end);
        if (call.sink) call.sink.take(row, rows_end, c);
      }
    });
    return {};
  }
  size_t scratch_bytes() const override { return 0; }
  bool gives_rows() const override { return true; }
  std::string implementation() const override { return "portable: few rows"; }

 private:
  int threads_;
  FewRows sizes_;
};

/// The bytes of a core's own cache that packed x may take.
constexpr int64_t kOwnCacheBytes = 512 << 10;

/// True if updating the weights is a large part of the step, as it is for small batches. Rows of dW should then be passed
/// to the update while they are in the cache.
bool update_counts(int64_t batch) { return batch <= 64; }

/// Computes dW = dy^T x as a product of packed panels (panels.h). If the run has a RowSink, a few rows of dW at a time are
/// computed in memory that stays in the cache, and passed to the sink. The bits of dW depend neither on the sink nor on
/// the number of threads.
class PanelGradKernel final : public Kernel {
 public:
  PanelGradKernel(int threads, int64_t batch, int64_t out, int64_t in)
      : threads_(threads), batch_(batch), out_(out), in_(in) {}

  Result<void> run(const KernelCall& call) override {
    const int64_t bytes = product_bytes(batch_, out_, in_) + out_ * in_ * (call.sink ? 12 : 0);
    const Strided x{floats(call.inputs[1]), in_};
    float* const shared = reinterpret_cast<float*>(call.scratch);
    if (!packs_alone()) pack_together(threads_, x, batch_, in_, shared);
    parallel_chunks(threads_, out_, call.sink ? rows_to_give() : rows_together(), bytes, [&](int thread, Chunks& chunks) {
      float* const left = reinterpret_cast<float*>(call.thread_scratch.of(thread));
      float* const rows = left + kLeftBlockFloats;  // With a sink: memory for the rows of dW that are passed to the sink.
      float* packed = packs_alone() ? nullptr : shared;
      for (int64_t first, last; chunks.next(first, last);) {
        if (!packed) pack(x, batch_, in_, 1.0f, packed = rows + rows_to_give() * in_);
        float* const c = call.sink ? rows : floats(call.outputs[0]) + first * in_;
        multiply_transposed({.a = {floats(call.inputs[0]) + first, 1, out_},
                             .packed = packed,
                             .c = c,
                             .c_stride = in_,
                             .rows = last - first,
                             .depth = batch_,
                             .columns = in_},
                            0, last - first, left);
        if (call.sink) call.sink.take(first, last, c);
      }
    });
    return {};
  }
  size_t scratch_bytes() const override { return packs_alone() ? 0 : packed_bytes(); }
  size_t thread_scratch_bytes() const override {
    return size_t(kLeftBlockFloats + rows_to_give() * in_) * sizeof(float) + (packs_alone() ? packed_bytes() : 0);
  }
  bool gives_rows() const override { return true; }
  std::string implementation() const override { return "portable: panels"; }

 private:
  /// With a small batch each thread packs x for itself. As long as packed x fits into a core's own cache, this is faster
  /// than to read what other cores have packed.
  bool packs_alone() const { return packed_bytes() <= (update_counts(batch_) ? size_t(1) << 20 : size_t(kOwnCacheBytes)); }
  size_t packed_bytes() const { return size_t(packed_floats(batch_, in_)) * sizeof(float); }
  /// Returns how many rows of dW a chunk has. A chunk is one pass over x, and has a few tiles only, so that at the end no
  /// thread waits long for another thread's last chunk.
  int64_t rows_together() const {
    const int64_t shares = int64_t(3) * threads_, share = (out_ + shares - 1) / shares;
    return std::clamp((share + kTileRows - 1) / kTileRows * kTileRows, kWideTileRows, kLeftBlockRows);
  }
  /// Returns how many rows of dW a chunk has if the run has a RowSink: as many as fit into the cache beside x.
  int64_t rows_to_give() const {
    constexpr int64_t kTogetherBytes = 64 << 10;
    const int64_t tiles = kTogetherBytes / (kTileRows * in_ * int64_t(sizeof(float)));
    return std::clamp(tiles * kTileRows, kWideTileRows, rows_together());
  }
  static constexpr int64_t kTileRows = 8, kWideTileRows = 16;

  int threads_;
  int64_t batch_, out_, in_;
};

/// True if dW is so small that it stays in a core's own cache during a pass over all of x.
bool grad_stays(int64_t out, int64_t in) { return out * in * kFloatBytes <= int64_t(256) << 10; }
/// True if SummedGradKernel should read x in place instead of packing it. The fewer rows dW has, the fewer times packed x
/// would be read, so packing is worth its time only if dW has many rows. If the rows of x are a whole number of KiB apart,
/// they evict each other from the first-level cache; packing is then worth its time with fewer rows of dW.
bool reads_plain(int64_t out, int64_t in) { return out <= (in % 256 == 0 ? 96 : 512) || grad_stays(out, in); }
/// True if SummedGradKernel is faster than PanelGradKernel. Only PanelGradKernel passes rows of dW to the update of
/// the weights while they are in the cache.
bool sums_in_place(int64_t rows, int64_t out, int64_t in) {
  const bool deep = rows > kLeftBlockDepth && packed_floats(rows, in) * int64_t(sizeof(float)) > kOwnCacheBytes;
  return deep || (!update_counts(rows) && (grad_stays(out, in) || reads_plain(out, in)));
}

/// Computes dW = dy^T x if dW is small compared with x, or has few rows. Adds the products of 256 rows of x at a time to
/// the sums, which stay in dW. Packs these rows of x, or reads them in place if packing would cost more (reads_plain).
/// Threads divide the columns of dW and, if there are few columns, its rows.
class SummedGradKernel final : public Kernel {
 public:
  SummedGradKernel(int threads, int64_t batch, int64_t out, int64_t in)
      : threads_(threads), batch_(batch), out_(out), in_(in), plain_(reads_plain(out, in)) {
    // Divides dW into up to three parts for each thread, so that a slower core delays no other thread; all threads get the
    // same number. If the columns of dW are divided, each part reads all of dy, but only its own columns of x. With fewer
    // than 64 columns a part, reading dy so often would cost more than the division gains. If the rows of dW are divided,
    // each part reads its columns of x again, so this is done only if there are few columns.
    const int64_t shares = threads == 1 ? 1 : int64_t(3) * threads;
    const int64_t across_all = threads * std::clamp(in / (threads * kColumnsWorthwhile), int64_t(1), shares / threads);
    columns_ = std::clamp((panel_count(in) + across_all - 1) / across_all * kPanelColumns, kColumnsTogether, kColumnsMax);
    const int64_t across = (in + columns_ - 1) / columns_, down = across >= threads ? 1 : (shares + across - 1) / across;
    rows_ = rounded_up((out + down - 1) / down, kTileRows);
  }

  Result<void> run(const KernelCall& call) override {
    const int64_t across = (in_ + columns_ - 1) / columns_, down = (out_ + rows_ - 1) / rows_;
    parallel_chunks(threads_, across * down, 1, product_bytes(batch_, out_, in_), [&](int thread, Chunks& chunks) {
      float* const scratch = reinterpret_cast<float*>(call.thread_scratch.of(thread));
      for (int64_t unit, end; chunks.next(unit, end);) add(call, unit / down * columns_, unit % down * rows_, scratch);
    });
    if (call.sink) {
      parallel_for(threads_, out_, out_ * in_ * 12, [&](int64_t first, int64_t last) {
        call.sink.take(first, last, floats(call.outputs[0]) + first * in_);
      });
    }
    return {};
  }
  size_t scratch_bytes() const override { return 0; }
  size_t thread_scratch_bytes() const override {
    const int64_t packed_columns = plain_ ? kPanelColumns : columns_;
    return size_t((plain_ ? 0 : kLeftBlockFloats) + packed_floats(kLeftBlockDepth, packed_columns)) * sizeof(float);
  }
  bool gives_rows() const override { return true; }
  std::string implementation() const override { return "portable: panels"; }

 private:
  /// Computes one part of dW: its sums over all rows of x and dy.
  void add(const KernelCall& call, int64_t column, int64_t row, float* scratch) const {
    float* const packed = scratch + (plain_ ? 0 : kLeftBlockFloats);
    const int64_t columns = std::min(columns_, in_ - column), rows = std::min(rows_, out_ - row);
    for (int64_t k = 0; k < batch_; k += kLeftBlockDepth) {
      const int64_t depth = std::min(kLeftBlockDepth, batch_ - k);
      const float* const x = floats(call.inputs[1]) + k * in_ + column;
      PanelProduct product{.a = {floats(call.inputs[0]) + k * out_ + row, 1, out_},
                           .packed = packed,
                           .c = floats(call.outputs[0]) + row * in_ + column,
                           .c_stride = in_,
                           .rows = rows,
                           .depth = depth,
                           .columns = columns,
                           .accumulate = k > 0};
      if (plain_) {
        // Prefetches the next rows of x, as long as they lie inside of x. Without this, an x that is larger than the caches
        // takes a third longer.
        const int64_t floats_behind = (batch_ - k - 2 * kLeftBlockDepth + 1) * in_ - column - columns;
        if (floats_behind >= columns_ahead(rows)) {
          product.ahead = x + kLeftBlockDepth * in_;
          product.ahead_stride = in_;
        }
        add_from_plain(x, product, packed);
      } else {
        pack({x, in_}, depth, columns, 1.0f, packed);
        multiply_transposed(product, 0, rows, scratch);
      }
    }
  }
  /// Adds the products of some rows of x and dy to the sums in dW. Reads x in place; only the columns of x beyond the last
  /// whole panel are packed.
  void add_from_plain(const float* x, PanelProduct product, float* packed) const {
    const int64_t whole = product.columns / kPanelColumns * kPanelColumns, rest = product.columns - whole;
    if (rest > 0) {
      pack({x + whole, in_}, product.depth, rest, 1.0f, packed);
      PanelProduct edge = product;
      edge.c += whole;
      edge.columns = rest;
      multiply(edge);
    }
    product.packed = x;
    product.plain_stride = in_;
    product.columns = whole;
    if (whole > 0) multiply(product);
  }
  static constexpr int64_t kTileRows = 8, kColumnsTogether = 2 * kPanelColumns, kColumnsWorthwhile = 64;
  static constexpr int64_t kColumnsMax = 512;  // 512 KiB of packed x.

  int threads_;
  int64_t batch_, out_, in_;
  bool plain_;              // True if x is read without packing.
  int64_t rows_, columns_;  // The size of the parts that dW is divided into.
};

}  // namespace

std::unique_ptr<Kernel> dense_kernel_product(const KernelRequest& request, const DenseSizes& sizes) {
  const auto& [rows, out, in] = sizes;
  if (rows <= kFewRows) return std::make_unique<FewRowsGradKernel>(request.threads, FewRows{rows, out, in});
  if (sums_in_place(rows, out, in)) return std::make_unique<SummedGradKernel>(request.threads, rows, out, in);
  return std::make_unique<PanelGradKernel>(request.threads, rows, out, in);
}

std::unique_ptr<Kernel> make_dense_grad_kernel(const KernelRequest& request) {
  if (!all_float32(request) || !none_empty(request)) return nullptr;
  const TensorType &dy = request.inputs[0], &x = request.inputs[1];
  return dense_kernel_product(request, {rows_of(dy), columns_of(dy), columns_of(x)});
}

}  // namespace shoal::backends::portable
