// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The flags of a program that calls shoal::run(): what there are, and what a command line says. What follows from them for
/// the configuration is flag_values.h's.
#include <map>
#include <optional>
#include <string>

#include "shoal/estimator/run.h"

namespace shoal {

/// Everything that a command line says, as it says it.
struct ParsedFlags {
  CommandLine command_line;  ///< What it says without the program's own flags.
  RunConfigOptions config;   ///< The configuration without what the members up to on_sigterm say.
  RuntimeOptions runtime;
  std::optional<double> ready_timeout_secs;
  std::string compute_dtype = "float32";
  std::optional<int64_t> save_steps;
  std::optional<double> save_secs;
  std::optional<std::string> cluster;
  std::optional<OnSigterm> on_sigterm;  ///< Unset: SHOAL_ON_SIGTERM decides.
  std::optional<std::string> predict;   ///< The file to predict for, instead of training.
  std::optional<double> measure_input;  ///< For how many seconds the input is measured, instead of training.
  bool quiet = false;
  bool profile = false;
  bool insecure = false;
  std::optional<std::string> token_file;
  std::optional<std::string> tls_dir;
  std::optional<std::string> bind;
  /// What flags say in the place of environment variables, by the names of these (SHOAL_RANK).
  std::map<std::string, std::string, std::less<>> variables;
  /// The program's own flags that were given, checked to fit their types.
  std::map<std::string, std::string> texts;
  std::map<std::string, bool> switches;  ///< The program's own flags that are on or off.
};

// Where neither the command line nor the program says otherwise.
inline constexpr double kFlagsSaveSecs = 60;
/// With --cluster: tasks of one process begin at once, and nobody starts one again that has failed.
inline constexpr double kThreadsReadyTimeoutSecs = 600;

/// Who heeds CommandLine: the program's body, or nobody.
enum class FlagReader { kBody, kNobody };

struct FlagsOutcome {
  std::optional<int> exit_status;  ///< Set if the program shall end here (help, wrong usage), and the user knows why.
  ParsedFlags flags;
};

/// Reads a command line. InvalidArgument if the program's own flags do not fit together, which is the program's mistake.
Result<FlagsOutcome> parse_flags(const ProgramInfo& program, FlagReader reader, int argc, const char* const* argv);

}  // namespace shoal
