// SPDX-License-Identifier: Apache-2.0
// Batch and group normalization. The same loops also add a tensor and apply a relu, if these are fused into the node. The
// relu keeps NaN.
#include "sources.h"
#include "strips.h"

namespace shoal::backends::portable {
// Batch normalization.

std::unique_ptr<Kernel> make_batch_norm(const KernelRequest& request) {
  if (!all_float32(request) || !none_empty(request)) return nullptr;
  const Shape& shape = request.inputs[0].shape;
  const Strips strips(shape.elements(), shape[shape.rank() - 1]);
  const double epsilon = request.node.attributes.get_real("epsilon");
  const bool activate = fused_relu(request), add = request.inputs.size() > 3;
  auto run = [=, threads = request.threads](const KernelCall& call) -> Result<void> {
    Scratch scratch(call.scratch);
    double *means = scratch.doubles(strips), *squares = scratch.doubles(strips);
    float *mean = scratch.floats(strips), *factor = scratch.floats(strips), *shift = scratch.floats(strips);
    const float* x = floats(call.inputs[0]);
    channel_moments(threads, strips, x, scratch.partial(strips), {means, squares});
    const double rows = double(strips.rows());
    float *variances = floats(call.outputs[2]), *inverses = floats(call.outputs[3]);
    for (int64_t c = 0; c < strips.channels; ++c) {
      // With a single row, squares[c] is 0 (or NaN, if x is not finite): 0 / (rows - 1) would be 0 / 0.
      variances[c] = rows == 1 ? float(squares[c]) : float(squares[c] / (rows - 1));
      inverses[c] = inverse_deviation(squares[c] / rows, epsilon);
    }
    const float *scales = floats(call.inputs[1]), *shifts = floats(call.inputs[2]);
    fill_lanes(strips, mean, [&](int64_t c) { return float(means[c]); });
    fill_lanes(strips, factor, [&](int64_t c) { return inverses[c] * scales[c]; });
    fill_lanes(strips, shift, [&](int64_t c) { return shifts[c]; });
    std::copy_n(mean, strips.channels, floats(call.outputs[1]));
    const float* addend = add ? floats(call.inputs[3]) : nullptr;
    float* y = floats(call.outputs[0]);
    over_elements(threads, strips, (add ? 3 : 2) * kFloatBytes, [&](int64_t begin, int64_t end) {
      normalize_strips(x, {mean, factor, shift}, addend, activate, strips.lanes, begin, end, y);
    });
    return {};
  };
  return make_loop(run, 2 * strips.doubles_bytes() + 3 * strips.floats_bytes() + strips.partial_bytes());
}

std::unique_ptr<Kernel> make_batch_norm_inference(const KernelRequest& request) {
  if (!all_float32(request) || !none_empty(request)) return nullptr;
  const Shape& shape = request.inputs[0].shape;
  const Strips strips(shape.elements(), shape[shape.rank() - 1]);
  const double epsilon = request.node.attributes.get_real("epsilon");
  const bool activate = fused_relu(request);
  auto run = [=, threads = request.threads](const KernelCall& call) -> Result<void> {
    Scratch scratch(call.scratch);
    float *mean = scratch.floats(strips), *factor = scratch.floats(strips), *shift = scratch.floats(strips);
    const float *scales = floats(call.inputs[1]), *shifts = floats(call.inputs[2]), *means = floats(call.inputs[3]),
                *variances = floats(call.inputs[4]);
    fill_lanes(strips, mean, [&](int64_t c) { return means[c]; });
    fill_lanes(strips, factor, [&](int64_t c) { return inverse_deviation(double(variances[c]), epsilon) * scales[c]; });
    fill_lanes(strips, shift, [&](int64_t c) { return shifts[c]; });
    const float* x = floats(call.inputs[0]);
    float* y = floats(call.outputs[0]);
    over_elements(threads, strips, 2 * kFloatBytes, [&](int64_t begin, int64_t end) {
      normalize_strips(x, {mean, factor, shift}, nullptr, activate, strips.lanes, begin, end, y);
    });
    return {};
  };
  return make_loop(run, 3 * strips.floats_bytes());
}

/// The gradients for training and for inference. In training, mean and variance depend on x too.
std::unique_ptr<Kernel> make_batch_norm_grad(const KernelRequest& request) {
  if (!all_float32(request) || !none_empty(request)) return nullptr;
  const Shape& shape = request.inputs[1].shape;
  const Strips strips(shape.elements(), shape[shape.rank() - 1]);
  const bool training = request.node.op == "batch_norm_grad", through_relu = request.inputs.size() > 5;
  const double epsilon = request.node.attributes.get_real("epsilon");
  auto run = [=, threads = request.threads](const KernelCall& call) -> Result<void> {
    Scratch scratch(call.scratch);
    double *sum = scratch.doubles(strips), *product = scratch.doubles(strips);
    float *mean = scratch.floats(strips), *factor = scratch.floats(strips), *offset = scratch.floats(strips),
          *slope = scratch.floats(strips);
    const float *dy = floats(call.inputs[0]), *x = floats(call.inputs[1]), *scales = floats(call.inputs[2]),
                *means = floats(call.inputs[3]), *last = floats(call.inputs[4]),
                *y = through_relu ? floats(call.inputs[5]) : nullptr;
    fill_lanes(strips, mean, [&](int64_t c) { return means[c]; });
    channel_gradients(threads, strips, {dy, x, y, mean}, scratch.partial(strips), sum, product);
    const double rows = double(strips.rows());
    auto inverse = [&](int64_t c) { return training ? last[c] : inverse_deviation(double(last[c]), epsilon); };
    float *dscale = floats(call.outputs[1]), *dshift = floats(call.outputs[2]);
    for (int64_t c = 0; c < strips.channels; ++c) {
      dscale[c] = float(product[c] * double(inverse(c)));
      dshift[c] = float(sum[c]);
    }
    fill_lanes(strips, factor, [&](int64_t c) { return inverse(c) * scales[c]; });
    fill_lanes(strips, offset, [&](int64_t c) { return float(sum[c] / rows * double(factor[c])); });
    fill_lanes(strips, slope, [&](int64_t c) {
      return float(product[c] / rows * double(inverse(c)) * double(inverse(c)) * double(factor[c]));
    });
    float* dx = floats(call.outputs[0]);
    over_elements(threads, strips, (y ? 4 : 3) * kFloatBytes, [&](int64_t begin, int64_t end) {
      if (training) {
        gradient_strips(dy, x, y, {mean, factor, offset, slope}, strips.lanes, begin, end, dx);
      } else {
        scale_strips(dy, factor, strips.lanes, begin, end, dx);
      }
    });
    return {};
  };
  return make_loop(run, 2 * strips.doubles_bytes() + 4 * strips.floats_bytes() + strips.partial_bytes());
}

// Group normalization: combines the moments of one example's channels by groups. Threads divide the examples, and each
// thread has scratch memory of its own.

namespace {

struct GroupNorm {
  int64_t examples, groups;
  Strips strips;  ///< Divides one example into strips of whole rows.
  int threads;

  GroupNorm(const KernelRequest& request, const Shape& x)
      : examples(x[0]),
        groups(request.node.attributes.get_int("groups")),
        strips(x.elements() / x[0], x[x.rank() - 1]),
        threads(request.threads) {}
  int64_t group_channels() const { return strips.channels / groups; }
  int64_t group_elements() const { return strips.elements() / groups; }
  int64_t group_of(int64_t channel) const { return channel / group_channels(); }

  /// Calls run(example, scratch memory) for each example.
  template <class Run>
  void over_examples(std::byte* scratch, size_t bytes_each, const Run& run) const {
    parallel_for(threads, threads, examples * strips.elements() * 3 * kFloatBytes, [&](int64_t begin, int64_t end) {
      for (int64_t thread = begin; thread < end; ++thread) {
        for (int64_t example = examples * thread / threads; example < examples * (thread + 1) / threads; ++example) {
          run(example, scratch + size_t(thread) * bytes_each);
        }
      }
    });
  }
};

}  // namespace

std::unique_ptr<Kernel> make_group_norm(const KernelRequest& request) {
  if (!all_float32(request) || !none_empty(request)) return nullptr;
  const GroupNorm norm(request, request.inputs[0].shape);
  const Strips strips = norm.strips;
  const double epsilon = request.node.attributes.get_real("epsilon");
  const size_t bytes_each = 2 * strips.doubles_bytes() + 3 * strips.floats_bytes() + strips.partial_bytes();
  auto run = [=](const KernelCall& call) -> Result<void> {
    norm.over_examples(call.scratch, bytes_each, [&](int64_t example, std::byte* memory) {
      Scratch scratch(memory);
      double *means = scratch.doubles(strips), *squares = scratch.doubles(strips);
      float *mean = scratch.floats(strips), *factor = scratch.floats(strips), *shift = scratch.floats(strips);
      const float* x = floats(call.inputs[0]) + example * strips.elements();
      channel_moments(1, strips, x, scratch.partial(strips), {means, squares});
      float* kept_means = floats(call.outputs[1]) + example * norm.groups;
      float* kept_inverses = floats(call.outputs[2]) + example * norm.groups;
      for (int64_t group = 0; group < norm.groups; ++group) {
        const int64_t first = group * norm.group_channels(), end = first + norm.group_channels();
        double average = 0, sum = 0;
        for (int64_t c = first; c < end; ++c) average += means[c] / double(norm.group_channels());
        for (int64_t c = first; c < end; ++c) {
          sum += squares[c] + double(strips.rows()) * (means[c] - average) * (means[c] - average);
        }
        kept_means[group] = float(average);
        kept_inverses[group] = inverse_deviation(sum / double(norm.group_elements()), epsilon);
      }
      const float *scales = floats(call.inputs[1]), *shifts = floats(call.inputs[2]);
      fill_lanes(strips, mean, [&](int64_t c) { return kept_means[norm.group_of(c)]; });
      fill_lanes(strips, factor, [&](int64_t c) { return kept_inverses[norm.group_of(c)] * scales[c]; });
      fill_lanes(strips, shift, [&](int64_t c) { return shifts[c]; });
      normalize_strips(x, {mean, factor, shift}, nullptr, false, strips.lanes, 0, strips.elements(),
                       floats(call.outputs[0]) + example * strips.elements());
    });
    return {};
  };
  return make_loop(run, size_t(norm.threads) * bytes_each);
}

std::unique_ptr<Kernel> make_group_norm_grad(const KernelRequest& request) {
  if (!all_float32(request) || !none_empty(request)) return nullptr;
  const GroupNorm norm(request, request.inputs[1].shape);
  const Strips strips = norm.strips;
  const int64_t channels = strips.channels;
  const size_t bytes_each = 2 * strips.doubles_bytes() + 4 * strips.floats_bytes() + strips.partial_bytes();
  const size_t kept_bytes = align_up(size_t(norm.examples * channels) * sizeof(double));
  auto run = [=](const KernelCall& call) -> Result<void> {
    // The contributions of each example to dscale and dshift. The sums below add them in the order of the examples, so that
    // the result does not depend on the threads.
    auto* dscales = reinterpret_cast<double*>(call.scratch);
    auto* dshifts = reinterpret_cast<double*>(call.scratch + kept_bytes);
    const float* scales = floats(call.inputs[2]);
    norm.over_examples(call.scratch + 2 * kept_bytes, bytes_each, [&](int64_t example, std::byte* memory) {
      Scratch scratch(memory);
      double *sum = scratch.doubles(strips), *product = scratch.doubles(strips);
      float *mean = scratch.floats(strips), *factor = scratch.floats(strips), *offset = scratch.floats(strips),
            *slope = scratch.floats(strips);
      const float* dy = floats(call.inputs[0]) + example * strips.elements();
      const float* x = floats(call.inputs[1]) + example * strips.elements();
      const float* means = floats(call.inputs[3]) + example * norm.groups;
      const float* inverses = floats(call.inputs[4]) + example * norm.groups;
      fill_lanes(strips, mean, [&](int64_t c) { return means[norm.group_of(c)]; });
      channel_gradients(1, strips, {dy, x, nullptr, mean}, scratch.partial(strips), sum, product);
      for (int64_t group = 0; group < norm.groups; ++group) {
        const int64_t first = group * norm.group_channels(), end = first + norm.group_channels();
        const double inverse = double(inverses[group]), elements = double(norm.group_elements());
        double scaled_sum = 0, scaled_product = 0;
        for (int64_t c = first; c < end; ++c) {
          scaled_sum += sum[c] * double(scales[c]);
          scaled_product += product[c] * double(scales[c]);
          dscales[example * channels + c] = product[c] * inverse;
          dshifts[example * channels + c] = sum[c];
        }
        for (int64_t c = first; c < end; ++c) {
          factor[c] = float(inverse * double(scales[c]));
          offset[c] = float(inverse * scaled_sum / elements);
          slope[c] = float(inverse * inverse * inverse * scaled_product / elements);
        }
      }
      for (float* lanes : {factor, offset, slope}) fill_lanes(strips, lanes, [&](int64_t c) { return lanes[c]; });
      gradient_strips(dy, x, nullptr, {mean, factor, offset, slope}, strips.lanes, 0, strips.elements(),
                      floats(call.outputs[0]) + example * strips.elements());
    });
    for (int64_t c = 0; c < channels; ++c) {
      double dscale = 0, dshift = 0;
      for (int64_t example = 0; example < norm.examples; ++example) {
        dscale += dscales[example * channels + c];
        dshift += dshifts[example * channels + c];
      }
      floats(call.outputs[1])[c] = float(dscale);
      floats(call.outputs[2])[c] = float(dshift);
    }
    return {};
  };
  return make_loop(run, 2 * kept_bytes + size_t(norm.threads) * bytes_each);
}

}  // namespace shoal::backends::portable
