// SPDX-License-Identifier: Apache-2.0
#include "shoal/data/element.h"

#include <algorithm>

#include "shoal/base/names_text.h"

namespace shoal::data {
namespace {

/// Finds the first tensor whose name does not come before `name`.
template <class Tensors>
auto place_of(Tensors& tensors, std::string_view name) {
  return std::lower_bound(tensors.begin(), tensors.end(), name,
                          [](const auto& entry, std::string_view wanted) { return entry.first < wanted; });
}

}  // namespace

TensorMap::TensorMap(std::initializer_list<std::pair<std::string, Tensor>> tensors) {
  for (const auto& [name, tensor] : tensors) set(name, tensor);
}

TensorMap::TensorMap(Tensor tensor) { set("", std::move(tensor)); }

bool TensorMap::is_single() const { return size() == 1 && tensors_[0].first.empty(); }

void TensorMap::set(std::string name, Tensor tensor) {
  const auto place = place_of(tensors_, name);
  if (place != tensors_.end() && place->first == name) {
    place->second = std::move(tensor);
  } else {
    tensors_.emplace(place, std::move(name), std::move(tensor));
  }
}

void TensorMap::erase(std::string_view name) {
  const auto place = place_of(tensors_, name);
  if (place != tensors_.end() && place->first == name) tensors_.erase(place);
}

const Tensor* TensorMap::find(std::string_view name) const {
  const auto place = place_of(tensors_, name);
  return place != tensors_.end() && place->first == name ? &place->second : nullptr;
}

Tensor* TensorMap::find(std::string_view name) { return const_cast<Tensor*>(std::as_const(*this).find(name)); }

const Tensor& TensorMap::operator[](std::string_view name) const {
  if (const Tensor* tensor = find(name)) return *tensor;
  raise(invalid_argument("no tensor named \"" + std::string(name) + "\"; there are: " + names()));
}

Tensor& TensorMap::operator[](std::string_view name) { return const_cast<Tensor&>(std::as_const(*this)[name]); }

const Tensor& TensorMap::single() const {
  if (is_single()) return tensors_[0].second;
  if (empty()) raise(invalid_argument("expected one tensor, there is none"));
  raise(invalid_argument("expected one tensor, but they have names: " + names() + "; choose one by its name"));
}

Tensor& TensorMap::single() { return const_cast<Tensor&>(std::as_const(*this).single()); }

std::string TensorMap::names() const { return names_text(tensors_); }

}  // namespace shoal::data
