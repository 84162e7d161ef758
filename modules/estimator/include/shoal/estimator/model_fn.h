// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The function that describes a model. Each training, evaluation, prediction and export calls it once, and it builds the
/// model afresh.
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include "shoal/base/std_function.h"
#include "shoal/estimator/estimator_spec.h"
#include "shoal/estimator/mode.h"
#include "shoal/estimator/params.h"
#include "shoal/estimator/run_config.h"
#include "shoal/nn/value_map.h"

namespace shoal {

/// Features as symbols in the graph of the model that is being built. They have a type of their own, so that a model_fn may
/// take features and labels in any order.
class Features : public nn::ValueMap {
 public:
  using nn::ValueMap::ValueMap;
  Features() = default;
  explicit Features(nn::ValueMap values) : nn::ValueMap(std::move(values)) {}
};

/// Labels as symbols in the graph of the model; empty in kPredict.
class Labels : public nn::ValueMap {
 public:
  using nn::ValueMap::ValueMap;
  Labels() = default;
  explicit Labels(nn::ValueMap values) : nn::ValueMap(std::move(values)) {}
};

/// A model function: any function or lambda that returns an EstimatorSpec and takes any of these, in any order:
///
///   const Features&, const Labels&, Mode, const Params&, const RunConfig&
///
/// A generic lambda has to take all five, in this order. If the input function gives labels and the model function
/// takes none, training and evaluation raise InvalidArgument. If the function throws an exception, the call that builds
/// the model throws the same one. Calls must be safe from any thread, since the tasks of a cluster of threads share the
/// function. Empty until assigned.
class ModelFn {
 public:
  ModelFn() = default;
  ModelFn(std::nullptr_t) {}  // NOLINT: an implicit conversion
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, ModelFn> && !std::is_same_v<std::remove_cvref_t<F>, std::nullptr_t>)
      ModelFn(F&& fn) {  // NOLINT: an implicit conversion
    using Fn = std::decay_t<F>;
    if constexpr (!std::is_class_v<Fn> || requires { &Fn::operator(); }) {
      adopt(std::forward<F>(fn), typename Arguments<Fn>::Types());
    } else {  // F is a generic lambda, whose argument types cannot be found out, so it gets all five arguments.
      using All = std::tuple<const Features&, const Labels&, Mode, const Params&, const RunConfig&>*;
      adopt(std::forward<F>(fn), All());
    }
  }

  explicit operator bool() const { return static_cast<bool>(call_); }
  /// Whether the function takes labels.
  bool takes_labels() const { return takes_labels_; }
  /// Calls the function: returns its specification and passes on its exceptions.
  EstimatorSpec operator()(const Features& features, const Labels& labels, Mode mode, const Params& params,
                           const RunConfig& config) const;

 private:
  struct Given {
    const Features& features;
    const Labels& labels;
    Mode mode;
    const Params& params;
    const RunConfig& config;
  };

  /// Finds the argument types of a callable. The member type `Types` is a pointer to a std::tuple of them.
  template <class F>
  struct Arguments : Arguments<decltype(&F::operator())> {};

  template <class A>
  static const auto& pick(const Given& given) {
    using T = std::remove_cvref_t<A>;
    constexpr bool known = std::is_same_v<T, Features> || std::is_same_v<T, Labels> || std::is_same_v<T, Mode> ||
                           std::is_same_v<T, Params> || std::is_same_v<T, RunConfig>;
    static_assert(known,
                  "a model_fn takes any of `const shoal::Features&`, `const shoal::Labels&`, `shoal::Mode`, `const "
                  "shoal::Params&` and `const shoal::RunConfig&`, in any order, and returns a shoal::EstimatorSpec");
    if constexpr (std::is_same_v<T, Features>) {
      return given.features;
    } else if constexpr (std::is_same_v<T, Labels>) {
      return given.labels;
    } else if constexpr (std::is_same_v<T, Mode>) {
      return given.mode;
    } else if constexpr (std::is_same_v<T, Params>) {
      return given.params;
    } else {
      return given.config;
    }
  }

  template <class F, class... A>
  void adopt(F&& fn, std::tuple<A...>*);

  std::function<EstimatorSpec(const Given&)> call_;
  bool takes_labels_ = false;
};

template <class R, class... A>
struct ModelFn::Arguments<R (*)(A...)> {
  using Types = std::tuple<A...>*;
};
template <class C, class R, class... A>
struct ModelFn::Arguments<R (C::*)(A...)> {
  using Types = std::tuple<A...>*;
};
template <class C, class R, class... A>
struct ModelFn::Arguments<R (C::*)(A...) const> {
  using Types = std::tuple<A...>*;
};
template <class C, class R, class... A>
struct ModelFn::Arguments<R (C::*)(A...) noexcept> {
  using Types = std::tuple<A...>*;
};
template <class C, class R, class... A>
struct ModelFn::Arguments<R (C::*)(A...) const noexcept> {
  using Types = std::tuple<A...>*;
};

template <class F, class... A>
void ModelFn::adopt(F&& fn, std::tuple<A...>*) {
  takes_labels_ = (std::is_same_v<std::remove_cvref_t<A>, Labels> || ...);
  std::function<EstimatorSpec(A...)> typed(std::forward<F>(fn));
  if (!typed) return;  // A null pointer, or an empty std::function.
  call_ = [typed = std::move(typed)](const Given& given) { return typed(pick<A>(given)...); };
}

}  // namespace shoal
