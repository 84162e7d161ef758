// Products of matrices and of batches of them. Transposes are strides; the result keeps its rows contiguous.
#include "sources.h"

namespace shoal::backends::onednn {
namespace {

using dnnl::memory;

struct Matrices {
  int64_t batch = 1;
  int64_t rows, columns;  ///< as they lie in memory
  bool transposed;

  Matrices(const Shape& shape, bool flipped)
      : rows(shape[shape.rank() - 2]), columns(shape[shape.rank() - 1]), transposed(flipped) {
    batch = shape.elements() / (rows * columns);
  }
  /// All matrices of the batch below each other.
  memory::desc flat(bool flipped, memory::data_type type = kFloat) const {
    const memory::dims sizes = flipped ? memory::dims{columns, batch * rows} : memory::dims{batch * rows, columns};
    return {sizes, type, flipped ? memory::format_tag::ba : memory::format_tag::ab};
  }
  memory::desc stacked(memory::data_type type = kFloat) const {
    const memory::dims sizes = transposed ? memory::dims{batch, columns, rows} : memory::dims{batch, rows, columns};
    return {sizes, type, transposed ? memory::format_tag::acb : memory::format_tag::abc};
  }
};

struct Operands {
  Matrices a, b;
  explicit Operands(const KernelRequest& request)
      : a(request.inputs[0].shape, request.node.attributes.get_bool("transpose_a")),
        b(request.inputs[1].shape, request.node.attributes.get_bool("transpose_b")) {}
};

/// c = a b; of(matrices, type) gives an operand as oneDNN is told of it.
template <class Of>
std::unique_ptr<Kernel> make_product(const Context& context, const Operands& operands, const memory::desc& c,
                                     const Of& of) {
  const memory::desc a = of(operands.a, context.factors), b = of(operands.b, context.factors);
  const auto description = describe<dnnl::matmul>(context.engine, user_scratchpad(), a, b, c);
  if (!usable(description)) return nullptr;
  auto kernel = std::make_unique<PrimitiveKernel>(context);
  kernel->add<dnnl::matmul>(description, {{DNNL_ARG_SRC, a, kernel->input_as(0, of(operands.a, kFloat), a)},
                                          {DNNL_ARG_WEIGHTS, b, kernel->input_as(1, of(operands.b, kFloat), b)},
                                          {DNNL_ARG_DST, c, output(0)}});
  return kernel;
}

std::unique_ptr<Kernel> make_flat(const Context& context, const Operands& operands, const memory::desc& c) {
  return make_product(context, operands, c,
                      [](const Matrices& m, memory::data_type type) { return m.flat(m.transposed, type); });
}

}  // namespace

std::unique_ptr<Kernel> make_matmul(const Context& context, const KernelRequest& request) {
  if (!all_float32(request) || !none_empty(request)) return nullptr;
  const Operands operands(request);
  const auto& [a, b] = operands;
  const Matrices c(request.outputs[0].shape, false);
  if (b.batch == 1 && (!a.transposed || a.batch == 1)) return make_flat(context, operands, c.flat(false));
  return make_product(context, operands, c.stacked(),  // a batch of one meets all of the other
                      [](const Matrices& m, memory::data_type type) { return m.stacked(type); });
}

std::unique_ptr<Kernel> make_matmul_sum(const Context& context, const KernelRequest& request) {
  if (!all_float32(request) || !none_empty(request)) return nullptr;
  const Operands operands(request);
  const auto& [a, b] = operands;
  const Matrices c(request.outputs[0].shape, false);
  // Only then do the sums over a batch lie in one row of sums; other layouts are the reference's.
  if (a.batch > 1 && (!a.transposed || b.transposed)) return nullptr;
  return make_flat(context, operands, c.flat(false));
}

}  // namespace shoal::backends::onednn
