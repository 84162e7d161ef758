// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Backends and transports that a program supplies beside those of its build.
#include <memory>
#include <string>
#include <vector>

#include "shoal/backends/backend.h"
#include "shoal/base/production.h"
#include "shoal/base/std_function.h"
#include "shoal/transport/transport.h"  // The complete type, for functions that return a unique_ptr to a transport.

namespace shoal {

struct OwnBackend {
  /// The name for `--backend` and RuntimeOptions::backend. Backends that `make` returns must have the same Backend::name().
  std::string name;
  /// Called once for each model that computes with the backend, on the thread that builds the model.
  std::function<std::unique_ptr<backends::Backend>()> make;
};

struct OwnTransport {
  std::string scheme;  ///< The name for `--transport` and RuntimeOptions::transport: small letters and digits.
  /// Called at most once for each task, with the task's environment. If tasks of one process have to connect, the function
  /// has to hold the state by which they find each other.
  TransportFactory make;
};

/// The value of ProgramInfo::plugins and RuntimeOptions::plugins. If the build has a plug-in of the same name, the
/// program's own one is used. InvalidArgument for a name twice in one list, a name that is not allowed, and an empty
/// function.
///
///   const shoal::ProgramInfo kProgram{
///       .plugins = {.backends = {{"tally", shoal::backends::make_tally_backend}}}};   // ./program --backend tally
///
/// Other programs of the job have to supply them too; the program `shoal` only has the plug-ins of its build. The CMake
/// option SHOAL_PLUGIN_DIRS adds a folder to a build (docs/how-to/own-backend.md, own-transport.md).
struct Plugins {
  std::vector<OwnBackend> backends{};
  std::vector<OwnTransport> transports{};
};

}  // namespace shoal
