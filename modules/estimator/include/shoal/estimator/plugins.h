// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Backends and transports that a program brings along, beside those of its build.
#include <memory>
#include <string>
#include <vector>

#include "shoal/backends/backend.h"
#include "shoal/base/production.h"
#include "shoal/base/std_function.h"
#include "shoal/transport/transport.h"  // Complete, so that a function that returns a unique_ptr to one is a TransportFactory.

namespace shoal {

struct OwnBackend {
  std::string name;  ///< For `--backend` and RuntimeOptions::backend. Backend::name() of what is made says the same.
  /// Called once for each model that computes, on the thread that builds the model.
  std::function<std::unique_ptr<backends::Backend>()> make;
};

struct OwnTransport {
  std::string scheme;  ///< For `--transport` and RuntimeOptions::transport: small letters and digits.
  /// Called at most once for each task, with the task's environment. Tasks of one process that have to meet find each other by
  /// what the function holds.
  TransportFactory make;
};

/// What ProgramInfo::plugins and RuntimeOptions::plugins name. A name that the build has too means the program's own. A name
/// twice in one list, a name that is none, and an empty function are InvalidArgument.
///
///   const shoal::ProgramInfo kProgram{
///       .plugins = {.backends = {{"tally", shoal::backends::make_tally_backend}}}};   // ./program --backend tally
///
/// Other programs of the job have to bring them too; the program `shoal` has those of its build alone. CMake adds a folder to a
/// build by SHOAL_PLUGIN_DIRS (docs/how-to/own-backend.md, own-transport.md).
struct Plugins {
  std::vector<OwnBackend> backends{};
  std::vector<OwnTransport> transports{};
};

}  // namespace shoal
