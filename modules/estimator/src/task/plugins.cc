// SPDX-License-Identifier: Apache-2.0
#include "task/plugins.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "shoal/base/environment.h"
#include "shoal/base/forever.h"
#include "shoal/base/names_text.h"
#include "shoal/transport/registry.h"

namespace shoal {
namespace {

/// The program's own plug-ins; an empty list if it has none.
const Plugins& plugins_of(const std::optional<RuntimeOptions>& runtime) {
  static const auto& none = forever(Plugins{});
  return runtime && runtime->plugins ? *runtime->plugins : none;
}

bool is_scheme(const std::string& name) {
  return std::ranges::all_of(name, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); });
}

Error refused(const std::string& what) { return invalid_argument("plugins: " + what); }

Result<void> check_entry(const std::string& kind, const std::string& name, bool has_function, std::set<std::string>& seen) {
  if (name.empty()) return refused("a " + kind + " has no name; give it one");
  if (!has_function) return refused(kind + " \"" + name + "\" has no function that makes it");
  if (!seen.insert(name).second) {
    return refused("two " + kind + "s are called \"" + name + "\"; give each a name of its own");
  }
  return {};
}

void add_name(std::vector<std::string>& names, const std::string& name) {
  if (std::ranges::find(names, name) == names.end()) names.push_back(name);
}

}  // namespace

Result<void> check_plugins(const Plugins& plugins) {
  std::set<std::string> backends, transports;
  for (const OwnBackend& own : plugins.backends) {
    SHOAL_TRY_VOID(check_entry("backend", own.name, bool(own.make), backends));
  }
  for (const OwnTransport& own : plugins.transports) {
    SHOAL_TRY_VOID(check_entry("transport", own.scheme, bool(own.make), transports));
    if (!is_scheme(own.scheme)) {
      return refused("transport \"" + own.scheme + "\": a scheme, as in " + own.scheme +
                     "://..., has small letters and digits only");
    }
  }
  return {};
}

std::vector<std::string> backend_names(const Plugins& plugins) {
  std::vector<std::string> names;
  for (const backends::BackendEntry& entry : backends::built_in_backends()) names.push_back(entry.name);
  for (const OwnBackend& own : plugins.backends) add_name(names, own.name);
  return names;
}

std::vector<std::string> transport_names(const Plugins& plugins) {
  std::vector<std::string> names;
  for (const auto& [scheme, make] : transport::built_in_transports()) names.push_back(scheme);
  for (const OwnTransport& own : plugins.transports) add_name(names, own.scheme);
  return names;
}

void add_own_transports(TransportTable& table, const std::optional<RuntimeOptions>& runtime) {
  for (const OwnTransport& own : plugins_of(runtime).transports) table.insert_or_assign(own.scheme, own.make);
}

Result<std::unique_ptr<backends::Backend>> make_backend(const std::string& name,
                                                        const std::optional<RuntimeOptions>& runtime) {
  const Plugins& plugins = plugins_of(runtime);
  const auto own = std::ranges::find(plugins.backends, name, &OwnBackend::name);
  if (own != plugins.backends.end()) {
    SHOAL_TRY(auto made, call_user("the function that makes backend \"" + name + "\"", own->make));
    if (!made) return failed_precondition("backend \"" + name + "\": the program's function that makes it gave none");
    return made;
  }
  auto built_in = backends::make_backend(name);
  if (built_in || plugins.backends.empty()) return built_in;
  return not_found(built_in.error().message() + ", and the program brings " +
                   comma_separated(plugins.backends, &OwnBackend::name));
}

}  // namespace shoal
