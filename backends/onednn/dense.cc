// SPDX-License-Identifier: Apache-2.0
// Dense layers by matmul on plain weights [out, in]: transposes are strides, so weights, wire and optimizer see one
// layout and nothing is reordered (inner_product in its own layout gains at most 15% and pays 20 to 50% for reorders).
// [..., features] is a matrix of as many rows as there are before the last axis.
#include <algorithm>

#include "few_rows.h"
#include "matrix_product.h"
#include "products.h"
#include "shoal/base/vector_loop.h"
#include "small_batch.h"
#include "sources.h"
#include "threads.h"

namespace shoal::backends::onednn {
namespace {

int64_t columns_of(const TensorType& type) { return type.shape[type.shape.rank() - 1]; }
int64_t rows_of(const TensorType& type) { return type.shape.elements() / columns_of(type); }

/// oneDNN (2.6 and 3.7) puts its brgemm kernels first, also where its gemm is faster: in large products whose second factor
/// lies as it is read. [1024, 128] [128, 3136] took gemm 0.83 of brgemm's time, [128, 1024] [1024, 3136] 0.91, on one
/// thread and on two (AVX-512); of transposed factors it is brgemm that is faster.
bool gemm_is_faster(const Context& context, const Matrices& a, const Matrices& b) {
  constexpr int64_t kLarge = int64_t(1) << 26, kWide = 128;  // Multiplications, and columns.
  return context.factors == kFloat && !b.transposed && b.columns >= kWide && a.rows * a.columns >= kLarge / b.columns;
}

/// c = a b + bias; no bias where there is no third input.
std::unique_ptr<PrimitiveKernel> make_matmul(const Context& context, const KernelRequest& request, const Matrices& a,
                                             const Matrices& b, const Matrices& c) {
  MatrixProduct product{.a = a, .b = b, .c = c, .prefers_gemm = gemm_is_faster(context, a, b)};
  if (request.inputs.size() > 2) product.bias_input = 2;
  return make_matrix_product(context, product, request.input_is_variable[1]);
}

bool few_rows(const Context& context, int64_t batch) { return context.factors == kFloat && batch <= kFewRows; }

int64_t weight_bytes(const FewRows& sizes) { return sizes.out * sizes.in * int64_t(sizeof(float)); }

std::unique_ptr<Kernel> make_few_rows_dense(const Context& context, const KernelRequest& request, const FewRows& sizes) {
  const bool biased = request.inputs.size() > 2, activate = fused_relu(request);
  return make_loop([sizes, biased, activate, threads = context.threads](const KernelCall& call) {
    const float *x = floats(call.inputs[0]), *w = floats(call.inputs[1]);
    const float* const bias = biased ? floats(call.inputs[2]) : nullptr;
    float* const y = floats(call.outputs[0]);
    parallel_for(threads, sizes.out, weight_bytes(sizes),
                 [&](int64_t first, int64_t last) { few_rows_dense(sizes, x, w, bias, y, first, last); });
    if (activate) relu(threads, y, y, sizes.rows * sizes.out);
    return Result<void>();
  });
}

std::unique_ptr<Kernel> make_few_rows_grad_input(const Context& context, const FewRows& sizes) {
  const int64_t blocks = few_rows_blocks(sizes.out), size = sizes.rows * sizes.in;
  const auto run = [=, threads = context.threads](const KernelCall& call) {
    const float *dy = floats(call.inputs[0]), *w = floats(call.inputs[1]);
    float* const dx = floats(call.outputs[0]);
    float* const partials = blocks > 1 ? reinterpret_cast<float*>(call.scratch) : dx;
    parallel_for(threads, blocks, weight_bytes(sizes), [&](int64_t first, int64_t last) {
      for (int64_t b = first; b < last; ++b) {
        few_rows_grad_input(sizes, dy, w, partials + b * size, sizes.out * b / blocks, sizes.out * (b + 1) / blocks);
      }
    });
    if (blocks > 1) few_rows_sum(partials, blocks, size, size, dx);
    return Result<void>();
  };
  return make_loop(run, blocks > 1 ? size_t(blocks * size) * sizeof(float) : 0);
}

/// What parallel_for() counts for a product: a multiplication costs less than the traffic of a float.
int64_t product_bytes(int64_t batch, int64_t out, int64_t in) {
  return out * in * std::max<int64_t>(sizeof(float), batch / 4);
}

/// Whether sums may be of 16 lanes, which gives other bits than 8: not where oneDNN was told to do without AVX-512, so that
/// equal instruction sets in Numerics mean equal bits.
bool wide_sums() {
  constexpr auto kNeeded = unsigned(dnnl::cpu_isa::avx512_core);
  return has_wide_loops() && (unsigned(dnnl::get_effective_cpu_isa()) & kNeeded) == kNeeded;
}

std::unique_ptr<Kernel> make_small_batch_dense(const Context& context, const KernelRequest& request, int64_t batch,
                                               int64_t out, int64_t in) {
  const bool biased = request.inputs.size() > 2, activate = fused_relu(request);
  return make_loop([=, threads = context.threads, wide = wide_sums()](const KernelCall& call) {
    const SmallBatch product{.rows = batch,
                             .out = out,
                             .in = in,
                             .x = floats(call.inputs[0]),
                             .w = floats(call.inputs[1]),
                             .bias = biased ? floats(call.inputs[2]) : nullptr,
                             .y = floats(call.outputs[0]),
                             .relu = activate,
                             .wide = wide};
    const int64_t together = out >= int64_t(16) * threads ? 16 : 4;  // A line of the cache in each row of y, or a tile.
    parallel_chunks(threads, out, together, product_bytes(batch, out, in), [&](int, Chunks& chunks) {
      for (int64_t first, last; chunks.next(first, last);) small_batch_dense(product, first, last);
    });
    return Result<void>();
  });
}

/// dx = dy w for small batches. oneDNN divides it over threads by columns of w, so that most of w comes from other cores'
/// caches; here a thread takes the rows of w that it updates, and what they add to dx is summed after. So, as with oneDNN,
/// bits depend on how many threads there are.
class SmallBatchGradInput final : public Kernel {
 public:
  SmallBatchGradInput(int threads, int64_t batch, int64_t out, int64_t in)
      : threads_(team_for(threads, product_bytes(batch, out, in))), batch_(batch), out_(out), in_(in) {}

  Result<void> run(const KernelCall& call) override {
    float* const dx = floats(call.outputs[0]);
    parallel_for(threads_, threads_, product_bytes(batch_, out_, in_), [&](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; ++t) {
        float* const sums = threads_ == 1 ? dx : sums_of(call, t);
        add_rows(call, out_ * t / threads_, out_ * (t + 1) / threads_, panel_of(call, t), sums);
      }
    });
    if (threads_ == 1) return {};
    const int64_t size = batch_ * in_, stride = int64_t(call.thread_scratch.stride / sizeof(float));
    parallel_for(threads_, size, size * (threads_ + 1) * int64_t(sizeof(float)), [&](int64_t begin, int64_t end) {
      few_rows_sum(sums_of(call, 0) + begin, threads_, stride, end - begin, dx + begin);
    });
    return {};
  }
  size_t thread_scratch_bytes() const override {
    return size_t(kPanelFloats + (threads_ == 1 ? 0 : batch_ * in_)) * sizeof(float);
  }
  std::string implementation() const override { return "onednn: small batch"; }

  /// On several threads the sums of each are as large as dx, and travel: less than w does only where w has many rows.
  static bool takes(int threads, int64_t batch, int64_t out, int64_t in) {
    const int team = team_for(threads, product_bytes(batch, out, in));
    return small_batch_takes(batch, in) && (team == 1 || out >= batch * team);
  }

 private:
  // Two panels of so many rows stay in the first-level cache.
  static constexpr int64_t kDepthTogether = 128, kColumnsTogether = 2 * kPanelColumns;
  static constexpr int64_t kPanelFloats = kDepthTogether * kColumnsTogether;
  static float* panel_of(const KernelCall& call, int64_t t) {
    return reinterpret_cast<float*>(call.thread_scratch.of(int(t)));
  }
  static float* sums_of(const KernelCall& call, int64_t t) { return panel_of(call, t) + kPanelFloats; }

  /// sums = dy w of the rows [first, last) of w alone.
  void add_rows(const KernelCall& call, int64_t first, int64_t last, float* panel, float* sums) const {
    const float *dy = floats(call.inputs[0]), *w = floats(call.inputs[1]);
    const int64_t ahead = columns_ahead(batch_);
    for (int64_t row = first; row < last; row += kDepthTogether) {
      const int64_t depth = std::min(kDepthTogether, last - row);
      for (int64_t column = 0; column < in_; column += kColumnsTogether) {
        const int64_t columns = std::min(kColumnsTogether, in_ - column);
        pack({w + row * in_ + column, in_}, depth, columns, 1.0f, panel);
        multiply({.a = {dy + row, out_},
                  .packed = panel,
                  .c = sums + column,
                  .c_stride = in_,
                  .rows = batch_,
                  .depth = depth,
                  .columns = columns,
                  .accumulate = row > first,
                  .ahead = column + kColumnsTogether + ahead <= in_ ? w + row * in_ + column + kColumnsTogether : nullptr,
                  .ahead_stride = in_});
      }
    }
  }

  int threads_;
  int64_t batch_, out_, in_;
};

}  // namespace

std::unique_ptr<Kernel> make_dense(const Context& context, const KernelRequest& request) {
  if (!all_float32(request) || !none_empty(request)) return nullptr;
  const int64_t batch = rows_of(request.inputs[0]), out = request.inputs[1].shape[0], in = request.inputs[1].shape[1];
  if (few_rows(context, batch)) return make_few_rows_dense(context, request, {batch, out, in});
  if (context.factors == kFloat && small_batch_takes(batch, in)) {
    return make_small_batch_dense(context, request, batch, out, in);
  }
  auto kernel = make_matmul(context, request, {batch, in}, {in, out, true}, {batch, out});
  if (kernel && fused_relu(request)) kernel->relu_after(request.outputs[0].shape.elements());
  return kernel;
}

std::unique_ptr<Kernel> make_dense_grad_input(const Context& context, const KernelRequest& request) {
  if (!all_float32(request) || !none_empty(request)) return nullptr;
  const int64_t batch = rows_of(request.inputs[0]), out = request.inputs[1].shape[0], in = request.inputs[1].shape[1];
  if (few_rows(context, batch)) return make_few_rows_grad_input(context, {batch, out, in});
  if (context.factors == kFloat && SmallBatchGradInput::takes(context.threads, batch, out, in)) {
    return std::make_unique<SmallBatchGradInput>(context.threads, batch, out, in);
  }
  return make_matmul(context, request, {batch, out}, {out, in}, {batch, in});
}

namespace {

/// dW = dy^T x for few rows: all at once into their places or, where there is a sink, some at a time into the place of the
/// first ones, and given away while they are in the first-level cache.
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
        few_rows_grad_kernel(sizes_, dy, x, c, row, rows_end);
        if (call.sink) call.sink.take(row, rows_end, c);
      }
    });
    return {};
  }
  size_t scratch_bytes() const override { return 0; }
  bool gives_rows() const override { return true; }
  std::string implementation() const override { return "onednn: few rows"; }

 private:
  int threads_;
  FewRows sizes_;
};

/// oneDNN reads the transposed operand at strides of its rows, which push each other out of the cache where there are many
/// columns: [2048, 1024]^T [2048, 256] took it 27.7 ms, this 13.5 (AVX2, one thread). It stays ahead where the other
/// operand is the wide one, or the sums are short.
bool transpose_is_slow(int64_t batch, int64_t out, int64_t in) { return out >= 512 && out >= in && batch >= 16; }

/// The part of a core's own cache that packed x may take.
constexpr int64_t kOwnCacheBytes = 512 << 10;

/// With AVX-512 panels are as fast as oneDNN up to some depth (Intel Xeon, Sapphire Rapids: 0.95 to 1.05 of its rate for
/// [128, 512]^T [128, 784] and its like, 0.75 for 1024 rows), and the update comes while rows are in the cache. That is so
/// as long as a core's own cache holds the packed x, and enough rows use it.
bool panels_are_fast(int64_t batch, int64_t out, int64_t in) {
  constexpr int64_t kDepthMax = 256, kRowsMin = 64;
  return wide_sums() && batch <= kDepthMax && out >= kRowsMin && batch * in * int64_t(sizeof(float)) <= kOwnCacheBytes;
}

/// For small batches the update of the kernel is a good part of the step: there rows have to come while it is in the cache.
bool update_counts(int64_t batch) { return batch <= 64; }

/// dW = dy^T x by panels. Rows are given away as soon as some are made, in memory that stays in the cache; their bits
/// depend neither on that nor on the number of threads.
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
      float* const rows = left + kLeftBlockFloats;  // Some rows of dW, to be given away.
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
  std::string implementation() const override { return "onednn: panels"; }

 private:
  /// With a small batch each thread packs x for itself: to read what other cores packed takes longer, as long as a
  /// core's own cache holds it.
  bool packs_alone() const { return packed_bytes() <= (update_counts(batch_) ? size_t(1) << 20 : size_t(kOwnCacheBytes)); }
  size_t packed_bytes() const { return size_t(packed_floats(batch_, in_)) * sizeof(float); }
  /// How many rows are made at a time, as x passes: some tiles, and not so many that threads wait for the last of them.
  int64_t rows_together() const {
    const int64_t shares = int64_t(3) * threads_, share = (out_ + shares - 1) / shares;
    return std::clamp((share + kTileRows - 1) / kTileRows * kTileRows, kWideTileRows, kLeftBlockRows);
  }
  /// The same where rows are given away: as many as fit the cache beside x.
  int64_t rows_to_give() const {
    constexpr int64_t kTogetherBytes = 64 << 10;
    const int64_t tiles = kTogetherBytes / (kTileRows * in_ * int64_t(sizeof(float)));
    return std::clamp(tiles * kTileRows, kWideTileRows, rows_together());
  }
  static constexpr int64_t kTileRows = 6, kWideTileRows = 12;

  int threads_;
  int64_t batch_, out_, in_;
};

}  // namespace

std::unique_ptr<Kernel> make_dense_grad_kernel(const Context& context, const KernelRequest& request) {
  if (!all_float32(request) || !none_empty(request)) return nullptr;
  const int64_t batch = rows_of(request.inputs[0]), out = columns_of(request.inputs[0]), in = columns_of(request.inputs[1]);
  if (few_rows(context, batch)) return std::make_unique<FewRowsGradKernel>(context.threads, FewRows{batch, out, in});
  if (context.factors == kFloat &&
      (update_counts(batch) || panels_are_fast(batch, out, in) || transpose_is_slow(batch, out, in))) {
    return std::make_unique<PanelGradKernel>(context.threads, batch, out, in);
  }
  // The result keeps its rows contiguous: a transposed one falls to oneDNN's reference code, a thousand times slower.
  return make_matmul(context, request, {out, batch, true}, {batch, in}, {out, in});
}

}  // namespace shoal::backends::onednn
