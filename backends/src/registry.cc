// SPDX-License-Identifier: Apache-2.0
#include "shoal/backends/backend.h"

namespace shoal::backends {

Result<std::unique_ptr<Backend>> make_backend(std::string_view name) {
  std::string names;
  for (const BackendEntry& entry : built_in_backends()) {
    if (entry.name == name) return entry.make();
    names += (names.empty() ? "" : ", ") + entry.name;
  }
  return not_found("backend \"" + std::string(name) + "\": this build has " + names);
}

Result<void> Backend::check_compute_dtype(DType dtype) const {
  if (dtype == DType::kFloat32) return {};
  return failed_precondition("backend \"" + std::string(name()) + "\" does not compute in " +
                             std::string(to_string(dtype)) + "; float32 is there everywhere");
}

Result<void> Program::run_on(const StepBinding& binding, RunProgress& progress) {
  for (size_t i = 0; binding.arrivals && i < binding.variables.size(); ++i) {
    progress.missing = i;
    if (!binding.arrivals->has_come(i)) return {};
  }
  SHOAL_TRY_VOID(run(binding));
  progress.done = true;
  return {};
}

std::string default_backend() {
  const auto& entries = built_in_backends();
  SHOAL_CHECK(!entries.empty());
  return entries.front().name;  // Entries are sorted by priority, best first: onednn precedes the others.
}

}  // namespace shoal::backends
