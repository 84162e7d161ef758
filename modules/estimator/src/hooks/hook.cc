#include "shoal/estimator/hook.h"

#include <algorithm>

namespace shoal {

void HookSetup::fetch(std::string name, Value value) {
  const auto found = std::find_if(fetches_.begin(), fetches_.end(), [&](const auto& f) { return f.first == name; });
  if (found == fetches_.end()) {
    fetches_.emplace_back(std::move(name), value);
  } else if (found->second != value) {
    raise(invalid_argument("two hooks fetch different values under the name " + name));
  }
}

TensorView RunContext::variable(std::string_view name) const {
  if (!read_variable_)
    raise(
        failed_precondition("only training has variables that change: a hook of an evaluation or a "
                            "prediction cannot read them"));
  return value_or_raise(read_variable_(name));
}

void StepRequest::observe(backends::KernelObserver& observer) {
  if (observer_) raise(failed_precondition("two hooks observe the kernels of one step; leave out one of them"));
  observer_ = &observer;
}

void StepRequest::feed(std::string input, Tensor tensor) {
  for (const auto& [other, value] : feeds_) {
    if (other == input) raise(invalid_argument("two hooks feed the input " + input + " in one step"));
  }
  feeds_.emplace_back(std::move(input), std::move(tensor));
}

const TensorView& StepValues::operator[](std::string_view name) const {
  if (!fetched_) raise(failed_precondition("this step did not fetch; call StepRequest::fetch() in before_step()"));
  for (const auto& [other, value] : values_) {
    if (other == name) return value;
  }
  raise(not_found("no value " + std::string(name) + " was named in begin()"));
}

}  // namespace shoal
