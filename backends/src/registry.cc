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

std::string default_backend() {
  const auto& entries = built_in_backends();
  SHOAL_CHECK(!entries.empty());
  return entries.front().name;  // best first: plug-in priorities put onednn before the others
}

}  // namespace shoal::backends
