// SPDX-License-Identifier: Apache-2.0
// Softmax and normalizations.
#include <algorithm>
#include <cmath>
#include <string>

#include "cpp/op_table.h"
#include "cpp/text.h"

namespace shoal::convert::cpp {
namespace {

/// Writes softmax and log_softmax, along the last axis.
void write_softmax(OpWriter& w) {
  w.may_write_over(0);
  w.call(w.node().op, {w.in(0), w.out(), int_text(w.input(0).rows()), int_text(w.input(0).last_size())});
}

void write_layer_norm(OpWriter& w) {
  w.may_write_over(0);
  w.call("layer_norm", {w.in(0), w.in(1), w.in(2), w.out(), int_text(w.input(0).rows()), int_text(w.input(0).last_size()),
                        double_text(w.attributes().get_real("epsilon"))});
}

std::string moments_obstacle(const OpWriter& w) {
  for (size_t i = 1; i < w.output_count(); ++i) {
    if (w.is_used(i)) return "its moments are used";
  }
  return "";
}

void write_batch_norm_inference(OpWriter& w) {
  w.may_write_over(0);
  const double epsilon = w.attributes().get_real("epsilon");
  const std::string rows = int_text(w.input(0).rows()), channels = int_text(w.input(0).last_size());
  if (!w.is_known(1) || !w.is_known(4)) {
    w.call("batch_norm", {w.in(0), w.in(1), w.in(2), w.in(3), w.in(4), w.out(), rows, channels, double_text(epsilon)});
    return write_fused_relu(w);
  }
  const std::span<const float> scales = w.floats(1), variances = w.floats(4);
  std::vector<float> factors;
  for (size_t c = 0; c < scales.size(); ++c)
    factors.push_back(float(1.0 / std::sqrt(double(variances[c]) + epsilon)) * scales[c]);
  const std::string factor = w.array(1, "factor of " + w.node().name, {w.input(0).last_size()}, factors);
  w.call("batch_norm_known", {w.in(0), factor, w.in(2), w.in(3), w.out(), rows, channels});
  write_fused_relu(w);
}

/// The generated function group_norm adds up strips of rows within blocks. A strip is as few whole rows as have at least
/// 256 elements. A block is as many strips as fit into 16,384 elements, but at least 8.
void write_group_norm(OpWriter& w) {
  w.may_write_over(0);
  const int64_t examples = w.input(0).shape[0], elements = w.input(0).elements() / examples,
                channels = w.input(0).last_size();
  const int64_t lanes = (256 + channels - 1) / channels * channels, count = elements / lanes;
  const int64_t strips_per_block = std::max<int64_t>(8, 16384 / lanes),
                blocks = (count + strips_per_block - 1) / strips_per_block;
  std::vector<std::string> strips;
  for (const int64_t size : {channels, lanes, count, elements % lanes, strips_per_block, blocks})
    strips.push_back(int_text(size));
  const std::string partial = w.scratch(DType::kFloat32, std::max<int64_t>(1, 2 * blocks * lanes));
  const std::string mean = w.scratch_of_doubles(lanes), squares = w.scratch_of_doubles(lanes);
  const std::string offset = examples == 1 ? "" : " + n * " + int_text(elements);
  if (examples > 1) w.line_before("for (Size n = 0; n < " + int_text(examples) + "; ++n)");
  w.call("group_norm", {w.in(0) + offset, w.in(1), w.in(2), w.out() + offset, "{" + joined(strips) + "}",
                        int_text(w.attributes().get_int("groups")), double_text(w.attributes().get_real("epsilon")),
                        partial, mean, squares});
}

}  // namespace

void add_normalization_rows(OpRows& rows) {
  rows.add("softmax", {write_softmax});
  rows.add("log_softmax", {write_softmax});
  rows.add("layer_norm", {write_layer_norm, moments_obstacle});
  rows.add("batch_norm_inference", {write_batch_norm_inference});
  rows.add("group_norm", {write_group_norm, moments_obstacle});
}

}  // namespace shoal::convert::cpp
