// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The flags of a program that calls shoal::run(), and the parser of its command line. flag_values.h turns the result into
/// a configuration.
#include <map>
#include <optional>
#include <string>

#include "shoal/estimator/run.h"

namespace shoal {

/// The contents of a command line, without interpretation.
struct ParsedFlags {
  CommandLine command_line;  ///< The values of the standard flags; those of the program's own flags are missing here.
  RunConfigOptions config;   ///< The configuration, without what the members `runtime` to `on_sigterm` below hold.
  RuntimeOptions runtime;
  std::optional<double> ready_timeout_secs;
  std::string compute_dtype = "float32";
  std::optional<int64_t> save_steps;
  std::optional<double> save_secs;
  std::optional<std::string> cluster;
  std::optional<OnSigterm> on_sigterm;  ///< Unset: SHOAL_ON_SIGTERM decides.
  std::optional<std::string> predict;   ///< If set: the program predicts for this file, and does not train.
  std::optional<double> measure_input;  ///< If set: measures the input for so many seconds, and does not train.
  bool quiet = false;
  bool profile = false;
  bool insecure = false;
  std::optional<std::string> token_file;
  std::optional<std::string> tls_dir;
  std::optional<std::string> bind;
  /// Values of flags that stand for environment variables, by the names of the variables (SHOAL_RANK).
  std::map<std::string, std::string, std::less<>> variables;
  /// The values of the program's own flags, checked against their types.
  std::map<std::string, std::string> texts;
  std::map<std::string, bool> switches;  ///< The program's own flags that are on or off.
};

// The interval of checkpoints in seconds, if neither the command line nor the program sets one.
inline constexpr double kFlagsSaveSecs = 60;
/// With --cluster, how long tasks wait for each other. This is shorter than usual, since all tasks begin at once in one
/// process, and a failed one is not restarted.
inline constexpr double kThreadsReadyTimeoutSecs = 600;

/// Who reads CommandLine: the program's own code (ProgramBody), or nobody.
enum class FlagReader { kBody, kNobody };

struct FlagsOutcome {
  /// Set if the program shall end now (after help or wrong usage). The user has been told why.
  std::optional<int> exit_status;
  ParsedFlags flags;
};

/// Parses a command line. InvalidArgument if the program's own flags contradict each other, which is a mistake of the
/// program.
Result<FlagsOutcome> parse_flags(const ProgramInfo& program, FlagReader reader, int argc, const char* const* argv);

}  // namespace shoal
