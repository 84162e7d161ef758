// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "loops.h"

namespace shoal::backends::reference {
namespace {

/// Makes a kernel that calls row(r, x, y, length) for each row along the last axis.
template <class Row>
std::unique_ptr<Kernel> make_rows(Row row) {
  return make_loop([row](const KernelCall& call) -> Result<void> {
    const Shape& shape = call.outputs[0].shape;
    const int64_t length = shape[shape.rank() - 1];
    float* y = call.outputs[0].as<float>().data();
    for (int64_t first = 0; first < shape.elements(); first += length) row(call, first, length, y + first);
    return {};
  });
}

struct Normalizer {
  double largest;
  double sum;  ///< The sum of exp(x - largest).
};

Normalizer normalizer(const float* x, int64_t length) {
  const double largest = double(*std::max_element(x, x + length));
  double sum = 0;
  for (int64_t i = 0; i < length; ++i) sum += std::exp(double(x[i]) - largest);
  return {largest, sum};
}

void softmax_row(const float* x, int64_t length, float* y) {
  const Normalizer norm = normalizer(x, length);
  for (int64_t i = 0; i < length; ++i) y[i] = float(std::exp(double(x[i]) - norm.largest) / norm.sum);
}

void log_softmax_row(const float* x, int64_t length, float* y) {
  const Normalizer norm = normalizer(x, length);
  for (int64_t i = 0; i < length; ++i) y[i] = float(double(x[i]) - norm.largest - std::log(norm.sum));
}

/// dx = y * (dy - sum(dy * y)).
void softmax_grad_row(const float* dy, const float* y, int64_t length, float* dx) {
  double sum = 0;
  for (int64_t i = 0; i < length; ++i) sum += double(dy[i]) * double(y[i]);
  for (int64_t i = 0; i < length; ++i) dx[i] = float(double(y[i]) * (double(dy[i]) - sum));
}

/// dx = dy - exp(y) * sum(dy).
void log_softmax_grad_row(const float* dy, const float* y, int64_t length, float* dx) {
  double sum = 0;
  for (int64_t i = 0; i < length; ++i) sum += double(dy[i]);
  for (int64_t i = 0; i < length; ++i) dx[i] = float(double(dy[i]) - std::exp(double(y[i])) * sum);
}

template <auto kRow>
std::unique_ptr<Kernel> make_forward(const KernelRequest&) {
  return make_rows([](const KernelCall& call, int64_t first, int64_t length, float* y) {
    kRow(call.inputs[0].as<float>().data() + first, length, y);
  });
}

template <auto kRow>
std::unique_ptr<Kernel> make_backward(const KernelRequest&) {
  return make_rows([](const KernelCall& call, int64_t first, int64_t length, float* dx) {
    kRow(call.inputs[0].as<float>().data() + first, call.inputs[1].as<float>().data() + first, length, dx);
  });
}

Result<void> check_labels(std::span<const int64_t> labels, int64_t classes) {
  for (size_t row = 0; row < labels.size(); ++row) {
    if (labels[row] >= 0 && labels[row] < classes) continue;
    return invalid_argument("label " + std::to_string(labels[row]) + " in row " + std::to_string(row) + " is outside [0, " +
                            std::to_string(classes) + ")")
        .with_place({labels.data(), int64_t(row)});
  }
  return {};
}

double smoothing_of(const KernelRequest& request) {
  const Attributes& attributes = request.node.attributes;
  return attributes.has("label_smoothing") ? attributes.get_real("label_smoothing") : 0.0;
}

int64_t last_size(const TensorView& x) { return x.shape[x.shape.rank() - 1]; }

std::unique_ptr<Kernel> make_cross_entropy(const KernelRequest& request) {
  return make_loop([smoothing = smoothing_of(request)](const KernelCall& call) -> Result<void> {
    const int64_t classes = last_size(call.inputs[0]);
    const auto labels = call.inputs[1].as<int64_t>();
    SHOAL_TRY_VOID(check_labels(labels, classes));
    const float* logits = call.inputs[0].as<float>().data();
    float* loss = call.outputs[0].as<float>().data();
    float* softmax = call.outputs[1].as<float>().data();
    for (int64_t label : labels) {
      const Normalizer norm = normalizer(logits, classes);
      // The expectation of the logit under the smoothed labels, minus the largest logit.
      double expected = (1 - smoothing) * (double(logits[label]) - norm.largest);
      if (smoothing > 0) {
        for (int64_t c = 0; c < classes; ++c) expected += smoothing / double(classes) * (double(logits[c]) - norm.largest);
      }
      *loss++ = float(std::log(norm.sum) - expected);
      softmax_row(logits, classes, softmax);
      logits += classes;
      softmax += classes;
    }
    return {};
  });
}

std::unique_ptr<Kernel> make_cross_entropy_grad(const KernelRequest& request) {
  return make_loop([smoothing = smoothing_of(request)](const KernelCall& call) -> Result<void> {
    const int64_t classes = last_size(call.inputs[0]);
    const auto labels = call.inputs[1].as<int64_t>();
    SHOAL_TRY_VOID(check_labels(labels, classes));
    const float* softmax = call.inputs[0].as<float>().data();
    const float* dloss = call.inputs[2].as<float>().data();
    float* dlogits = call.outputs[0].as<float>().data();
    for (size_t row = 0; row < labels.size(); ++row) {
      for (int64_t c = 0; c < classes; ++c) {
        const double label = (c == labels[row] ? 1 - smoothing : 0.0) + smoothing / double(classes);
        *dlogits++ = float((double(*softmax++) - label) * double(dloss[row]));
      }
    }
    return {};
  });
}

}  // namespace

void add_softmax(const AddMaker& add) {
  add("softmax", make_forward<softmax_row>);
  add("softmax_grad", make_backward<softmax_grad_row>);
  add("log_softmax", make_forward<log_softmax_row>);
  add("log_softmax_grad", make_backward<log_softmax_grad_row>);
  add("softmax_cross_entropy", make_cross_entropy);
  add("softmax_cross_entropy_grad", make_cross_entropy_grad);
}

}  // namespace shoal::backends::reference
