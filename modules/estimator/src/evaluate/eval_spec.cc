// SPDX-License-Identifier: Apache-2.0
#include "shoal/estimator/eval_spec.h"

#include <algorithm>
#include <set>

#include "shoal/estimator/exporter.h"

namespace shoal {
namespace {

Error out_of_range(const std::string& field, int64_t value, const std::string& accepted) {
  return invalid_argument("EvalSpec: " + field + ": " + std::to_string(value) + " is out of range, accepted is " +
                          accepted);
}

/// Whether `name` can be the name of one folder: it is not a path of several names, and does not lead out of the parent.
bool is_folder_name(const std::string& name) {
  const bool is_dots = name == "." || name == "..";
  return !name.empty() && !is_dots && name.find('/') == std::string::npos && name.find('\0') == std::string::npos;
}

/// Each exporter writes to a folder of its name, so names must not be empty, must differ, and must stay inside the parent
/// folder.
Result<void> check_exporters(const std::vector<std::shared_ptr<Exporter>>& exporters) {
  if (std::find(exporters.begin(), exporters.end(), nullptr) != exporters.end()) {
    return invalid_argument("EvalSpec: exporters: one of them is null");
  }
  std::string listing;
  std::set<std::string, std::less<>> names;
  bool all_usable = true;
  for (const auto& exporter : exporters) {
    const std::string name(exporter->name());
    listing += (listing.empty() ? "\"" : ", \"") + name + "\"";
    all_usable = all_usable && is_folder_name(name) && names.insert(name).second;
  }
  if (all_usable) return {};
  return invalid_argument(
      "EvalSpec: exporters: names must not be empty, \".\" or \"..\", must differ and have no '/'; they are " + listing);
}

}  // namespace

Result<void> EvalSpec::check() const {
  if (!input_fn) {
    return type_mismatch("EvalSpec: input_fn: is missing; give a function that returns a Dataset of (features, labels)");
  }
  if (steps && *steps <= 0) return out_of_range("steps", *steps, "> 0, or None for the whole input");
  if (throttle_secs < 0) return out_of_range("throttle_secs", throttle_secs, ">= 0");
  if (start_delay_secs < 0) return out_of_range("start_delay_secs", start_delay_secs, ">= 0");
  if (name && (name->empty() || !is_folder_name("eval_" + *name))) {
    return invalid_argument("EvalSpec: name: \"" + *name +
                            "\" cannot be part of the folder name eval_<name>: it must not be "
                            "empty and have no '/'; leave it out for the folder eval");
  }
  if (std::find(hooks.begin(), hooks.end(), nullptr) != hooks.end()) {
    return invalid_argument("EvalSpec: hooks: one of them is null");
  }
  return check_exporters(exporters);
}

ExporterList::ExporterList(std::initializer_list<std::shared_ptr<Exporter>> exporters) : vector(exporters) {}
ExporterList::ExporterList(std::vector<std::shared_ptr<Exporter>> exporters) : vector(std::move(exporters)) {}

}  // namespace shoal
