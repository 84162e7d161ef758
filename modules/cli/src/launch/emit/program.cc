// SPDX-License-Identifier: Apache-2.0
// Implements check_program(): checks the program's words for Kubernetes, Slurm, systemd or compose.
#include <algorithm>
#include <optional>

#include "launch/contradictions.h"
#include "launch/emit/engine.h"
#include "launch/emit/quoting.h"
#include "launch/emit/secrets.h"
#include "shoal/cluster/cluster_spec.h"
#include "shoal/json/fields.h"

namespace shoal::cli::launch {
namespace {

// kubectl stores the applied file in an annotation of at most 256 KiB, in which a byte of the command may take six bytes.
// So a command of 32 KiB takes at most 192 KiB of the annotation.
constexpr size_t kCommandBytesMax = 32 * 1024;

Error refused(const Engine& engine, const std::string& sentence) {
  return invalid_argument("--emit " + std::string(engine.name) + ": " + sentence);
}

bool has_any(std::string_view text, std::string_view signs) { return text.find_first_of(signs) != std::string_view::npos; }
bool has_control_sign(std::string_view text) {
  return std::ranges::any_of(text, [](char c) { return uint8_t(c) < 0x20 || c == 0x7f; });
}

Result<void> check_words(const std::vector<std::string>& words, const ProgramCommand& command) {
  size_t bytes = 0;
  for (size_t i = 0; i < words.size(); ++i) {
    bytes += words[i].size() + 1;
    if (json::is_utf8(words[i])) continue;
    return invalid_argument("--emit: word " + std::to_string(i + 1) +
                            " behind -- is no UTF-8, and so cannot be written down");
  }
  if (bytes > kCommandBytesMax) {
    return invalid_argument("--emit: the words behind -- have " + std::to_string(bytes) +
                            " bytes, and a manifest holds at most " + std::to_string(kCommandBytesMax) +
                            "; keep what is long in a file that the program reads");
  }
  if (command.program >= words.size()) return invalid_argument("--emit: there is no program behind env");
  for (const std::string& name : {words.front(), words[command.program]}) {
    if (!name.empty() && name.front() != '-') continue;
    return invalid_argument("--emit: the program's name is empty, or begins with '-'");
  }
  return {};
}

/// Refuses flags and variables about the token and about SIGTERM: the files of --emit themselves say where the token is,
/// and what a SIGTERM makes tasks do.
Result<void> check_own_flags(const ProgramCommand& command, const Engine& engine) {
  for (const char* flag : {"--token-file", "--tls-dir"}) {
    if (!command.flag(flag)) continue;
    return invalid_argument("--emit: leave " + std::string(flag) +
                            " out of the program's arguments: the emitted files themselves say where the job's token is");
  }
  for (const char* name : {"SHOAL_TOKEN", "SHOAL_TOKEN_FILE", "SHOAL_TLS_DIR"}) {
    if (command.variable(name).value_or("").empty()) continue;
    return invalid_argument("--emit: leave " + std::string(name) +
                            " out of env: the emitted files themselves say where the job's token is");
  }
  const auto contradicts = [&](const std::optional<std::string>& meaning) {
    return meaning && *meaning != engine.on_sigterm;
  };
  if (contradicts(command.value("--on-sigterm")) || contradicts(command.variable("SHOAL_ON_SIGTERM"))) {
    return refused(engine, "the program's --on-sigterm (or SHOAL_ON_SIGTERM) contradicts the engine, whose SIGTERM means " +
                               std::string(engine.on_sigterm) + "; leave it out");
  }
  const std::string bind = command.value("--bind").value_or("");
  if (engine.in_containers && !bind.empty() &&
      cluster::is_loopback_address(bind + (bind.find(':') == std::string::npos ? ":1" : ""))) {
    return refused(engine, "the program's --bind " + bind + " is where no other container gets to; leave it out");
  }
  return {};
}

bool is_no_path_of_units(std::string_view path) {
  return has_control_sign(path) || has_any(path, "\"'\\") || has_noncharacter(path);
}

/// True if the path has "." or ".." between its slashes, so that one folder has several names.
bool is_winding(std::string_view path) {
  const std::string whole = "/" + std::string(path) + "/";
  return whole.find("/../") != std::string::npos || whole.find("/./") != std::string::npos;
}

Result<void> check_model_dir(const std::string& path, const std::string& program, const Engine& engine) {
  if (path.starts_with('~') || path.find("://") != std::string::npos) {
    return invalid_argument("--emit: --model-dir is " + path +
                            ": a folder is wanted, written as it is called there, without ~ " + "or a scheme");
  }
  if (!engine.on_other_machines) return {};
  if (path.front() != '/') {
    return refused(
        engine, "--model-dir is " + path + ", and has to begin with '/': the same folder for all tasks, wherever they run");
  }
  if (is_winding(path)) return refused(engine, "--model-dir is " + path + ": write the folder without . and ..");
  if (path.find_first_not_of('/') == std::string::npos) {
    return refused(engine, "--model-dir is /, the whole file system; name a folder below it");
  }
  if (engine.name == "systemd" && is_no_path_of_units(path)) {
    return refused(engine,
                   "--model-dir has quotes, backslashes or control characters, which a unit has no way to write in a path");
  }
  if (engine.name == "kubernetes" && has_any(path, ":")) {
    return refused(engine, "--model-dir is " + path + ", and what is mounted there may have no ':'");
  }
  if (engine.in_containers && program.starts_with(path.substr(0, path.find_last_not_of('/') + 1) + "/")) {
    return refused(engine,
                   "--model-dir is " + path + ", and the volume that is mounted there would hide the program " + program);
  }
  return {};
}

/// Checks the words of the command for a systemd unit. The first word must be the program's full path, without quotes and
/// other characters that only arguments may have. No word may name a file in /tmp, since each unit has its own /tmp.
Result<void> check_unit(const std::vector<std::string>& words, const ProgramCommand& command, const Engine& engine) {
  const std::string& program = words.front();
  if (program.front() != '/') {
    return refused(engine, program + ": a unit needs the whole path of the program on the boards, from '/' on");
  }
  if (is_no_path_of_units(program) || program.back() == '/' || is_winding(program)) {
    return refused(engine,
                   "the program's path has quotes, backslashes, control characters, . or .., or ends with '/', which " +
                       std::string("a unit has no way to write"));
  }
  const std::string data_dir = command.value("--data-dir").value_or("/");
  if (!data_dir.starts_with('/')) {
    return refused(engine, "--data-dir is " + data_dir + ", and has to begin with '/': a unit runs in the folder /");
  }
  for (const std::string_view word : words) {
    const std::string_view path = word.starts_with('/') ? word : word.substr(word.find('=') + 1);
    if (!path.starts_with("/tmp/") && !path.starts_with("/var/tmp/")) continue;
    return refused(engine, std::string(path) +
                               ": the unit has a /tmp and a /var/tmp of its own, which are empty and do not stay; " +
                               "name another folder");
  }
  return {};
}

}  // namespace

Result<void> check_program(EmitJob& job, const Engine& engine) {
  const ProgramCommand command = read_command(job.command);
  SHOAL_TRY_VOID(check_words(job.command, command));
  SHOAL_TRY_VOID(check_own_flags(command, engine));
  SHOAL_TRY_VOID(check_no_secrets(job.command, engine.secret_goes));
  const std::string by = "--emit " + std::string(engine.name);
  auto fits =
      check_contradictions(command, job.command, {.size = job.size, .by = by, .one_machine = !engine.in_containers});
  if (!fits) return std::move(fits).error().with_context("--emit");
  job.model_dir = command.value("--model-dir").value_or("");
  if (job.model_dir.empty()) {
    return invalid_argument("--emit: the program's arguments have no --model-dir, where the tasks of a job meet");
  }
  SHOAL_TRY_VOID(check_model_dir(job.model_dir, job.command[command.program], engine));
  if (command.value("--spare-dir") && engine.on_other_machines) {
    return refused(engine,
                   "--spare-dir: the emitted files let tasks write to the model's folder only; leave it out "
                   "here, and add it, with its folder, to those files");
  }
  return engine.name == "systemd" ? check_unit(job.command, command, engine) : Result<void>();
}

}  // namespace shoal::cli::launch
