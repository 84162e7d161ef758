// SPDX-License-Identifier: Apache-2.0
#include "primitives.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <vector>

#include "dnnl_shim.h"

namespace shoal::bench {
namespace {

using backends::onednn::describe;
using backends::onednn::describe_backward;
using dnnl::memory;
using Tag = memory::format_tag;
constexpr auto kFloat = memory::data_type::f32;

#if DNNL_VERSION_MAJOR >= 3
using PoolingForward = dnnl::pooling_forward;
using PoolingBackward = dnnl::pooling_backward;
void append_relu(dnnl::post_ops& ops) { ops.append_eltwise(dnnl::algorithm::eltwise_relu, 0, 0); }
#else
using PoolingForward = dnnl::pooling_v2_forward;
using PoolingBackward = dnnl::pooling_v2_backward;
void append_relu(dnnl::post_ops& ops) { ops.append_eltwise(1, dnnl::algorithm::eltwise_relu, 0, 0); }
#endif

dnnl::primitive_attr plain_attributes() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

dnnl::primitive_attr relu_attributes() {
  dnnl::primitive_attr attributes = plain_attributes();
  dnnl::post_ops ops;
  append_relu(ops);
  attributes.set_post_ops(ops);
  return attributes;
}

/// Sets the team of OpenMP, where oneDNN was built with it.
void set_team(int threads) {
  using SetThreads = void (*)(int);
  static const auto set = reinterpret_cast<SetThreads>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
  if (set) set(threads);
}

/// While it lives, oneDNN computes on a team of its own. Shoal has it compute on one thread.
class OwnTeam {
 public:
  explicit OwnTeam(int threads) { set_team(threads); }
  ~OwnTeam() { set_team(1); }
  OwnTeam(const OwnTeam&) = delete;
  OwnTeam& operator=(const OwnTeam&) = delete;
};

class Sum final : public PrimitiveSum {
 public:
  explicit Sum(int threads) : threads_(threads) {}
  void run() override {
    const OwnTeam team(threads_);
    for (Call& call : calls_) call.primitive.execute(stream_, call.arguments);
    stream_.wait();
  }

  /// 5x5 same convolution with bias and relu, then 2x2 maxima; `first`: no gradient for the image.
  void add_convolution_and_pool(int64_t batch, int64_t channels, int64_t side, int64_t filters, bool first) {
    const memory::desc x({batch, channels, side, side}, kFloat, Tag::any), w({filters, channels, 5, 5}, kFloat, Tag::any),
        b({filters}, kFloat, Tag::x), y({batch, filters, side, side}, kFloat, Tag::any);
    const memory::dims stride{1, 1}, padding{2, 2};
    const auto kind = dnnl::prop_kind::forward_training;
    const auto direct = dnnl::algorithm::convolution_direct;
    const auto forward =
        describe<dnnl::convolution_forward>(engine_, relu_attributes(), kind, direct, x, w, b, y, stride, padding, padding);
    add<dnnl::convolution_forward>(forward, {{DNNL_ARG_SRC, forward.src_desc()},
                                             {DNNL_ARG_WEIGHTS, forward.weights_desc()},
                                             {DNNL_ARG_BIAS, b},
                                             {DNNL_ARG_DST, forward.dst_desc()}});
    const auto weights = describe_backward<dnnl::convolution_backward_weights>(engine_, plain_attributes(), forward, direct,
                                                                               x, w, b, y, stride, padding, padding);
    add<dnnl::convolution_backward_weights>(weights, {{DNNL_ARG_SRC, weights.src_desc()},
                                                      {DNNL_ARG_DIFF_DST, weights.diff_dst_desc()},
                                                      {DNNL_ARG_DIFF_WEIGHTS, weights.diff_weights_desc()},
                                                      {DNNL_ARG_DIFF_BIAS, b}});
    if (!first) {
      const auto data = describe_backward<dnnl::convolution_backward_data>(engine_, plain_attributes(), forward, direct, x,
                                                                           w, y, stride, padding, padding);
      add<dnnl::convolution_backward_data>(data, {{DNNL_ARG_DIFF_DST, data.diff_dst_desc()},
                                                  {DNNL_ARG_WEIGHTS, data.weights_desc()},
                                                  {DNNL_ARG_DIFF_SRC, data.diff_src_desc()}});
    }
    add_pool(forward.dst_desc(), {batch, filters, side / 2, side / 2});
  }

  /// Adds a dense layer with bias, and relu unless it is the last one.
  void add_dense(int64_t batch, int64_t in, int64_t out, bool first, bool last) {
    const memory::desc x({batch, in}, kFloat, Tag::any), w({out, in}, kFloat, Tag::any), b({out}, kFloat, Tag::x),
        y({batch, out}, kFloat, Tag::any);
    const auto forward = describe<dnnl::inner_product_forward>(engine_, last ? plain_attributes() : relu_attributes(),
                                                               dnnl::prop_kind::forward_training, x, w, b, y);
    add<dnnl::inner_product_forward>(forward, {{DNNL_ARG_SRC, forward.src_desc()},
                                               {DNNL_ARG_WEIGHTS, forward.weights_desc()},
                                               {DNNL_ARG_BIAS, b},
                                               {DNNL_ARG_DST, forward.dst_desc()}});
    const auto weights =
        describe_backward<dnnl::inner_product_backward_weights>(engine_, plain_attributes(), forward, x, w, b, y);
    add<dnnl::inner_product_backward_weights>(weights, {{DNNL_ARG_SRC, weights.src_desc()},
                                                        {DNNL_ARG_DIFF_DST, weights.diff_dst_desc()},
                                                        {DNNL_ARG_DIFF_WEIGHTS, weights.diff_weights_desc()},
                                                        {DNNL_ARG_DIFF_BIAS, b}});
    if (first) return;
    const auto data = describe_backward<dnnl::inner_product_backward_data>(engine_, plain_attributes(), forward, x, w, y);
    add<dnnl::inner_product_backward_data>(data, {{DNNL_ARG_DIFF_DST, data.diff_dst_desc()},
                                                  {DNNL_ARG_WEIGHTS, data.weights_desc()},
                                                  {DNNL_ARG_DIFF_SRC, data.diff_src_desc()}});
  }

 private:
  struct Call {
    dnnl::primitive primitive;
    std::unordered_map<int, memory> arguments;
  };

  template <class Primitive>
  void add(const typename Primitive::primitive_desc& description, std::vector<std::pair<int, memory::desc>> arguments) {
    arguments.emplace_back(DNNL_ARG_SCRATCHPAD, description.scratchpad_desc());
    Call call{Primitive(description), {}};
    for (const auto& [name, type] : arguments) call.arguments.emplace(name, filled(name, type));
    calls_.push_back(std::move(call));
  }

  void add_pool(const memory::desc& x, const memory::dims& out) {
    const memory::desc y(out, kFloat, Tag::any);
    const memory::dims window{2, 2}, none{0, 0};
    const auto maximum = dnnl::algorithm::pooling_max;
    const auto forward = describe<PoolingForward>(engine_, plain_attributes(), dnnl::prop_kind::forward_training, maximum,
                                                  x, y, window, window, none, none, none);
    add<PoolingForward>(
        forward, {{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, forward.dst_desc()}, {DNNL_ARG_WORKSPACE, forward.workspace_desc()}});
    const auto backward = describe_backward<PoolingBackward>(engine_, plain_attributes(), forward, maximum, x,
                                                             forward.dst_desc(), window, window, none, none, none);
    add<PoolingBackward>(
        backward,
        {{DNNL_ARG_DIFF_SRC, x}, {DNNL_ARG_DIFF_DST, forward.dst_desc()}, {DNNL_ARG_WORKSPACE, forward.workspace_desc()}});
  }

  memory filled(int name, const memory::desc& type) {
    memory place(type, engine_);
    if (name == DNNL_ARG_WORKSPACE) {  // It has bytes: positions inside a window.
      std::memset(place.get_data_handle(), 0, type.get_size());
    } else {
      std::fill_n(static_cast<float*>(place.get_data_handle()), type.get_size() / sizeof(float), 0.01f);
    }
    return place;
  }

  const int threads_;
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  std::vector<Call> calls_;
};

}  // namespace

std::unique_ptr<PrimitiveSum> make_primitive_sum(std::string_view model, int64_t batch, int threads) {
  const OwnTeam team(threads);
  auto sum = std::make_unique<Sum>(threads);
  if (model == "cnn") {
    sum->add_convolution_and_pool(batch, 1, 28, 32, true);
    sum->add_convolution_and_pool(batch, 32, 14, 64, false);
    sum->add_dense(batch, 7 * 7 * 64, 1024, false, false);
    sum->add_dense(batch, 1024, 10, false, true);
  } else if (model == "mlp") {
    sum->add_dense(batch, 784, 512, true, false);
    sum->add_dense(batch, 512, 512, false, false);
    sum->add_dense(batch, 512, 10, false, true);
  } else {
    return nullptr;
  }
  return sum;
}

}  // namespace shoal::bench
