// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The function that describes a model's input. Each training, evaluation or prediction calls it once, and it returns a
/// Dataset.
#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>

#include "shoal/base/std_function.h"
#include "shoal/data/dataset.h"
#include "shoal/estimator/mode.h"

namespace shoal {

class Params;
class RunConfig;

/// The arguments of an input function. The references are valid during the call.
struct InputContext {
  Mode mode;
  const Params& params;
  const RunConfig& config;
};

/// An input function: any callable that takes nothing or an InputContext and returns a data::Dataset of (features, labels)
/// or of features alone. A Dataset converts to the function that returns it. Empty until assigned. Calls must be safe from
/// any thread, since the tasks of a cluster of threads share the function.
class InputFn {
 public:
  InputFn() = default;
  InputFn(std::nullptr_t) {}       // NOLINT: an implicit conversion
  InputFn(data::Dataset dataset);  // NOLINT: an implicit conversion
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, InputFn> && !std::is_same_v<std::remove_cvref_t<F>, std::nullptr_t> &&
           !std::is_same_v<std::remove_cvref_t<F>, data::Dataset>) InputFn(F&& fn)
      : call_(adapt(std::forward<F>(fn))) {}  // NOLINT: an implicit conversion

  explicit operator bool() const { return static_cast<bool>(call_); }
  /// Calls the function: returns its dataset and passes on its exceptions.
  data::Dataset operator()(const InputContext& context) const;

 private:
  using Call = std::function<data::Dataset(const InputContext&)>;

  template <class F>
  static Call adapt(F&& fn) {
    using Fn = std::decay_t<F>;
    constexpr bool takes_nothing = std::is_invocable_r_v<data::Dataset, Fn&>;
    constexpr bool takes_context = std::is_invocable_r_v<data::Dataset, Fn&, const InputContext&>;
    static_assert(takes_nothing || takes_context,
                  "an input function takes nothing or a `const shoal::InputContext&` (mode, params, config), and returns "
                  "a shoal::data::Dataset");
    if constexpr (takes_context) {
      return Call(std::forward<F>(fn));  // The result is empty if fn is a null pointer or an empty std::function.
    } else {
      std::function<data::Dataset()> plain(std::forward<F>(fn));
      if (!plain) return {};
      return [plain = std::move(plain)](const InputContext&) { return plain(); };
    }
  }

  Call call_;
};

/// A function that makes the input for predictions from the file at `path`: the rows of the file in batches, with the
/// features that the model takes. Labels are dropped. Any callable that takes a path and returns a Dataset or an InputFn
/// can be assigned; until then it is empty.
using PredictInput = std::function<InputFn(const std::string& path)>;

}  // namespace shoal
