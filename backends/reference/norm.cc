// SPDX-License-Identifier: Apache-2.0
/// Normalization. Means, variances and sums are taken in double; results kept for a gradient are float, as on every
/// backend.
#include <algorithm>
#include <cmath>

#include "loops.h"

namespace shoal::backends::reference {
namespace {

float inverse_deviation(double variance, double epsilon) { return float(1.0 / std::sqrt(variance + epsilon)); }

struct Rows {
  int64_t rows;
  int64_t channels;
  explicit Rows(const Shape& x) : rows(1), channels(x[x.rank() - 1]) {
    for (int axis = 0; axis + 1 < x.rank(); ++axis) rows *= x[axis];
  }
};

// Batch normalization.

void normalize_channels(Rows size, const float* x, const float* scale, const float* shift, const float* mean,
                        const float* inverse, const float* addend, bool activate, float* y) {
  for (int64_t i = 0; i < size.rows * size.channels; ++i) {
    const int64_t c = i % size.channels;
    double value = (double(x[i]) - double(mean[c])) * double(inverse[c]) * double(scale[c]) + double(shift[c]);
    // Rounds to float before the addition, so that the bits equal those of two separate ops, a normalization and an
    // addition.
    if (addend) value = double(float(value)) + double(addend[i]);
    y[i] = activate ? relu(float(value)) : float(value);
  }
}

std::unique_ptr<Kernel> make_batch_norm(const KernelRequest& request) {
  const Rows size(request.inputs[0].shape);
  const double epsilon = request.node.attributes.get_real("epsilon");
  const bool activate = request.node.attributes.get_string("activation") == "relu";
  return make_loop([=](const KernelCall& call) -> Result<void> {
    const float* x = call.inputs[0].as<float>().data();
    float* mean = call.outputs[1].as<float>().data();
    float* variance = call.outputs[2].as<float>().data();
    float* inverse = call.outputs[3].as<float>().data();
    for (int64_t c = 0; c < size.channels; ++c) {
      double sum = 0, squares = 0;
      for (int64_t row = 0; row < size.rows; ++row) sum += double(x[row * size.channels + c]);
      const double average = sum / double(size.rows);
      for (int64_t row = 0; row < size.rows; ++row) {
        const double deviation = double(x[row * size.channels + c]) - average;
        squares += deviation * deviation;
      }
      mean[c] = float(average);
      variance[c] = float(size.rows == 1 ? 0.0 : squares / double(size.rows - 1));
      inverse[c] = inverse_deviation(squares / double(size.rows), epsilon);
      if (size.rows == 0) variance[c] = mean[c];
    }
    normalize_channels(size, x, call.inputs[1].as<float>().data(), call.inputs[2].as<float>().data(), mean, inverse,
                       call.inputs.size() > 3 ? call.inputs[3].as<float>().data() : nullptr, activate,
                       call.outputs[0].as<float>().data());
    return {};
  });
}

std::unique_ptr<Kernel> make_batch_norm_inference(const KernelRequest& request) {
  const Rows size(request.inputs[0].shape);
  const double epsilon = request.node.attributes.get_real("epsilon");
  const bool activate = request.node.attributes.get_string("activation") == "relu";
  auto loop = [=](const KernelCall& call) -> Result<void> {
    auto* inverse = reinterpret_cast<float*>(call.scratch);
    for (int64_t c = 0; c < size.channels; ++c) {
      inverse[c] = inverse_deviation(double(call.inputs[4].as<float>()[size_t(c)]), epsilon);
    }
    normalize_channels(size, call.inputs[0].as<float>().data(), call.inputs[1].as<float>().data(),
                       call.inputs[2].as<float>().data(), call.inputs[3].as<float>().data(), inverse, nullptr, activate,
                       call.outputs[0].as<float>().data());
    return {};
  };
  return make_loop(loop, size_t(size.channels) * sizeof(float));
}

/// Makes the kernels of the gradients in training and in inference. In training, mean and variance depend on x, too.
std::unique_ptr<Kernel> make_batch_norm_grad(const KernelRequest& request) {
  const Rows size(request.inputs[1].shape);
  const bool training = request.node.op == "batch_norm_grad";
  const bool through_relu = request.inputs.size() > 5;
  const double epsilon = request.node.attributes.get_real("epsilon");
  return make_loop([=](const KernelCall& call) -> Result<void> {
    const float* dy = call.inputs[0].as<float>().data();
    const float* x = call.inputs[1].as<float>().data();
    const float* y = through_relu ? call.inputs[5].as<float>().data() : nullptr;
    float* dx = call.outputs[0].as<float>().data();
    for (int64_t c = 0; c < size.channels; ++c) {
      const double scale = double(call.inputs[2].as<float>()[size_t(c)]);
      const double mean = double(call.inputs[3].as<float>()[size_t(c)]);
      const float last = call.inputs[4].as<float>()[size_t(c)];
      const double inverse = double(training ? last : inverse_deviation(double(last), epsilon));
      auto gradient = [&](int64_t i) { return y && !(y[i] > 0) ? 0.0 : double(dy[i]); };
      double dscale = 0, dshift = 0;
      for (int64_t i = c; i < size.rows * size.channels; i += size.channels) {
        dscale += gradient(i) * (double(x[i]) - mean) * inverse;
        dshift += gradient(i);
      }
      for (int64_t i = c; i < size.rows * size.channels; i += size.channels) {
        const double normalized = (double(x[i]) - mean) * inverse;
        const double through_moments = training ? (dshift + normalized * dscale) / double(size.rows) : 0.0;
        dx[i] = float(scale * inverse * (gradient(i) - through_moments));
      }
      call.outputs[1].as<float>()[size_t(c)] = float(dscale);
      call.outputs[2].as<float>()[size_t(c)] = float(dshift);
    }
    return {};
  });
}

// Layer and group normalization: each group of channels of an example is normalized over all positions. In layer_norm each
// row is an example with one position and one group.

struct Groups {
  int64_t examples, positions, groups, channels;
  explicit Groups(const KernelRequest& request, const Shape& x)
      : examples(1), positions(1), groups(1), channels(x[x.rank() - 1]) {
    if (request.node.attributes.has("groups")) {
      groups = request.node.attributes.get_int("groups");
      examples = x[0];
      for (int axis = 1; axis + 1 < x.rank(); ++axis) positions *= x[axis];
    } else {
      examples = Rows(x).rows;
    }
  }
  int64_t group_elements() const { return positions * channels / groups; }
  /// Calls visit(i, c) for each element i of x, which belongs to channel c.
  template <class Visit>
  void visit(int64_t example, int64_t group, Visit visit) const {
    const int64_t group_channels = channels / groups;
    for (int64_t p = 0; p < positions; ++p) {
      for (int64_t c = group * group_channels; c < (group + 1) * group_channels; ++c) {
        visit((example * positions + p) * channels + c, size_t(c));
      }
    }
  }
};

std::unique_ptr<Kernel> make_norm(const KernelRequest& request) {
  const Groups size(request, request.inputs[0].shape);
  const double epsilon = request.node.attributes.get_real("epsilon");
  return make_loop([=](const KernelCall& call) -> Result<void> {
    const float* x = call.inputs[0].as<float>().data();
    const auto scale = call.inputs[1].as<float>(), shift = call.inputs[2].as<float>();
    float* y = call.outputs[0].as<float>().data();
    for (int64_t example = 0; example < size.examples; ++example) {
      for (int64_t group = 0; group < size.groups; ++group) {
        double sum = 0, squares = 0;
        size.visit(example, group, [&](int64_t i, size_t) { sum += double(x[i]); });
        const double mean = sum / double(size.group_elements());
        size.visit(example, group, [&](int64_t i, size_t) { squares += (double(x[i]) - mean) * (double(x[i]) - mean); });
        const float inverse = inverse_deviation(squares / double(size.group_elements()), epsilon);
        size.visit(example, group, [&](int64_t i, size_t c) {
          y[i] = float((double(x[i]) - mean) * double(inverse) * double(scale[c]) + double(shift[c]));
        });
        const size_t kept = size_t(example * size.groups + group);
        call.outputs[1].as<float>()[kept] = float(mean);
        call.outputs[2].as<float>()[kept] = inverse;
      }
    }
    return {};
  });
}

std::unique_ptr<Kernel> make_norm_grad(const KernelRequest& request) {
  const Groups size(request, request.inputs[1].shape);
  auto loop = [=](const KernelCall& call) -> Result<void> {
    const float* dy = call.inputs[0].as<float>().data();
    const float* x = call.inputs[1].as<float>().data();
    const auto scale = call.inputs[2].as<float>();
    float* dx = call.outputs[0].as<float>().data();
    auto* dscale = reinterpret_cast<double*>(call.scratch);
    double* dshift = dscale + size.channels;
    std::fill_n(dscale, 2 * size.channels, 0.0);
    for (int64_t example = 0; example < size.examples; ++example) {
      for (int64_t group = 0; group < size.groups; ++group) {
        const size_t kept = size_t(example * size.groups + group);
        const double mean = double(call.inputs[3].as<float>()[kept]), inverse = double(call.inputs[4].as<float>()[kept]);
        auto normalized = [&](int64_t i) { return (double(x[i]) - mean) * inverse; };
        double sum = 0, product = 0;
        size.visit(example, group, [&](int64_t i, size_t c) {
          sum += double(dy[i]) * double(scale[c]);
          product += double(dy[i]) * double(scale[c]) * normalized(i);
          dscale[c] += double(dy[i]) * normalized(i);
          dshift[c] += double(dy[i]);
        });
        size.visit(example, group, [&](int64_t i, size_t c) {
          const double through_moments = (sum + normalized(i) * product) / double(size.group_elements());
          dx[i] = float(inverse * (double(dy[i]) * double(scale[c]) - through_moments));
        });
      }
    }
    round_to(call.outputs[1].as<float>().data(), dscale, size.channels);
    round_to(call.outputs[2].as<float>().data(), dshift, size.channels);
    return {};
  };
  return make_loop(loop, size_t(2 * size.channels) * sizeof(double));
}

}  // namespace

void add_norm(const AddMaker& add) {
  add("batch_norm", make_batch_norm);
  add("batch_norm_grad", make_batch_norm_grad);
  add("batch_norm_inference", make_batch_norm_inference);
  add("batch_norm_inference_grad", make_batch_norm_grad);
  add("layer_norm", make_norm);
  add("layer_norm_grad", make_norm_grad);
  add("group_norm", make_norm);
  add("group_norm_grad", make_norm_grad);
}

}  // namespace shoal::backends::reference
