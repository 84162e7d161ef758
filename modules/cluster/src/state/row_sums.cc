// SPDX-License-Identifier: Apache-2.0
#include "state/row_sums.h"

#include <algorithm>

namespace shoal::cluster {

Result<RowSums> RowSums::make(const VariableSpec* variable, const std::string& name) {
  if (!variable) return not_found("variable " + name + " is on no server; is it a variable of the trained model?");
  if (!variable->lazy_rows) return failed_precondition("variable " + name + " is not planned for updates by rows");
  const int64_t rows = variable->shape.rank() == 0 ? 1 : variable->shape[0];
  if (rows > kRowsMax) {
    return failed_precondition("variable " + name + " has " + std::to_string(rows) +
                               " rows; updates by rows take at most " + std::to_string(kRowsMax));
  }
  return RowSums(rows, rows == 0 ? 0 : variable->shape.elements() / rows);
}

Result<void> RowSums::add(const TensorView& ids, const TensorView& gradients) {
  if (gradients.dtype != DType::kFloat32 || gradients.elements() != ids.elements() * width_) {
    return invalid_argument("gradient rows " + to_string(gradients.shape) + " do not fit the ids " + to_string(ids.shape) +
                            " and the row width " + std::to_string(width_));
  }
  const float* values = reinterpret_cast<const float*>(gradients.data);
  switch (ids.dtype) {
    case DType::kInt64: return add_all(ids.as<int64_t>(), values);
    case DType::kInt32: return add_all(ids.as<int32_t>(), values);
    default: return invalid_argument("row ids are " + std::string(to_string(ids.dtype)) + "; they must be int64 or int32");
  }
}

template <class Id>
Result<void> RowSums::add_all(std::span<const Id> ids, const float* gradients) {
  const auto width = size_t(width_);
  for (size_t i = 0; i < ids.size(); ++i, gradients += width) {
    if (const size_t ahead = i + kRowsAhead; ahead < ids.size() && size_t(ids[ahead]) < place_of_.size()) {
      __builtin_prefetch(&place_of_[size_t(ids[ahead])], 1);
    }
    if (ids[i] < 0 || size_t(ids[i]) >= place_of_.size()) {
      return invalid_argument("row id " + std::to_string(ids[i]) + " in row " + std::to_string(i) + " is outside [0, " +
                              std::to_string(place_of_.size()) + ")");
    }
    int32_t& place = place_of_[size_t(ids[i])];
    if (place == kNone) {
      place = int32_t(touched_.size());
      touched_.push_back(ids[i]);
      sums_.insert(sums_.end(), gradients, gradients + width);
    } else {
      float* sum = sums_.data() + size_t(place) * width;
      for (size_t k = 0; k < width; ++k) sum[k] += gradients[k];
    }
  }
  return {};
}

void RowSums::clear() {
  for (int64_t row : touched_) place_of_[size_t(row)] = kNone;
  touched_.clear();
  sums_.clear();
}

Result<void> sum_rows(std::span<const RowGradients> gradients, Denormals denormals, std::span<RowSums> sums) {
  const ComputeMode mode(denormals);
  for (RowSums& of_variable : sums) of_variable.clear();
  for (const RowGradients& part : gradients) SHOAL_TRY_VOID(sums[part.variable].add(part.ids, part.gradients));
  return {};
}

bool all_zero(const float* values, int64_t count) {
  return std::all_of(values, values + count, [](float value) { return value == 0.0f; });
}

}  // namespace shoal::cluster
