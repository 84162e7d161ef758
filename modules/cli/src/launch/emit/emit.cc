#include "launch/emit/emit.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>

#include "shoal/cluster/place.h"
#include "shoal/json/fields.h"

namespace shoal::cli::launch {
namespace {

struct EmitKind {
  std::string_view name;
  std::vector<EmittedFile> (*emit)(const EmitJob&);
  bool on_other_machines;  ///< Or in containers: a relative path is another one there.
};
constexpr std::array<EmitKind, 4> kKinds{{{"kubernetes", &emit_kubernetes, true},
                                          {"slurm", &emit_slurm, false},
                                          {"systemd", &emit_systemd, true},
                                          {"compose", &emit_compose, true}}};

constexpr size_t kNameBytesMax = 40;  // A pod's name has a number behind it, and at most 63.

bool is_letter(char c) { return c >= 'a' && c <= 'z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// What Kubernetes takes for the name of a pod, and so does everybody else.
Result<void> check_name(const std::string& name) {
  const bool of_such = std::ranges::all_of(name, [](char c) { return is_letter(c) || is_digit(c) || c == '-'; });
  if (of_such && !name.empty() && name.size() <= kNameBytesMax && is_letter(name.front()) && name.back() != '-') return {};
  return invalid_argument("--name: " + json::Json(name).dump(-1, ' ', true, json::Json::error_handler_t::replace) +
                          ": a name has lower-case letters, digits and '-', at most " + std::to_string(kNameBytesMax) +
                          ", begins with a letter and does not end with '-'");
}

/// "mnist" of "build/bin/Mnist.sh"... as far as there is such a name in it.
std::string name_from(const std::string& program) {
  std::string name = program.substr(program.rfind('/') + 1);
  name = name.substr(0, name.find('.'));
  for (char& c : name) {
    if (c >= 'A' && c <= 'Z') c = char(c - 'A' + 'a');
    if (!is_letter(c) && !is_digit(c)) c = '-';
  }
  name.erase(name.begin(), std::ranges::find_if(name, is_letter));
  name.resize(std::min(name.size(), kNameBytesMax));
  while (!name.empty() && name.back() == '-') name.pop_back();
  return name.empty() ? "shoal-job" : name;
}

/// The value of --name among the program's arguments; nothing if it is not there.
std::optional<std::string> flag_of(const std::vector<std::string>& command, const std::string& flag) {
  for (size_t i = 1; i < command.size(); ++i) {
    if (command[i] == flag && i + 1 < command.size()) return command[i + 1];
    if (command[i].starts_with(flag + "=")) return command[i].substr(flag.size() + 1);
  }
  return std::nullopt;
}

Result<void> check_command(const std::vector<std::string>& command) {
  for (size_t i = 0; i < command.size(); ++i) {
    if (json::is_utf8(command[i])) continue;
    return invalid_argument("--emit: word " + std::to_string(i + 1) +
                            " behind -- is no UTF-8, and so cannot be written down");
  }
  if (command.front().empty() || command.front().front() == '-') {
    return invalid_argument("--emit: the program's name is empty, or begins with '-'");
  }
  for (const char* flag : {"--token-file", "--tls-dir"}) {
    if (flag_of(command, flag)) {
      return invalid_argument("--emit: leave " + std::string(flag) +
                              " out of the program's arguments: what is emitted says itself where the job's token is");
    }
  }
  return {};
}

Result<std::string> model_dir_of(const std::vector<std::string>& command, const EmitKind& kind) {
  const std::string path = flag_of(command, "--model-dir").value_or("");
  if (path.empty()) {
    return invalid_argument("--emit: the program's arguments have no --model-dir, where the tasks of a job meet");
  }
  if (kind.on_other_machines && path.front() != '/') {
    return invalid_argument("--emit " + std::string(kind.name) + ": --model-dir is " + path +
                            ", and has to begin with '/': the same folder for all tasks, wherever they run");
  }
  const auto has = [&](std::string_view signs) { return path.find_first_of(signs) != std::string::npos; };
  const bool blind = std::ranges::any_of(path, [](char c) { return uint8_t(c) < 0x20 || c == 0x7f; });
  if (kind.name == "systemd" && (blind || has("\"\\"))) {
    return invalid_argument(
        "--emit systemd: --model-dir has quotes, backslashes or control characters, which a unit has no way "
        "to write in a path");
  }
  if (kind.name == "kubernetes" && has(":")) {
    return invalid_argument("--emit kubernetes: --model-dir is " + path + ", and what is mounted there may have no ':'");
  }
  return path;
}

Result<void> check_size(const cluster::ClusterSize& size) {
  SHOAL_TRY_VOID(size.check());
  if (size.tasks() == 1) {
    return invalid_argument(
        "--emit: one task needs nobody who tells it of others; --ps and --workers, or --size, say more");
  }
  if (size.master) {
    return invalid_argument(
        "--emit: tasks that are told a rank have a chief and no master; leave --master out, or say "
        "--evaluator");
  }
  SHOAL_TRY_VOID(cluster::plan_of(size.tasks(), size.ps, size.evaluator));
  return {};
}

Result<void> check_systemd(const EmitJob& job) {
  if (job.command.front().front() != '/') {
    return invalid_argument("--emit systemd: " + job.command.front() +
                            ": a unit names its program from '/' on, as it is called on the boards");
  }
  if (job.rendezvous.empty()) {
    return invalid_argument(
        "--emit systemd: on which board is rank 0? --rendezvous board1:4000 says its name or address, and "
        "a port that is free there");
  }
  auto address = cluster::parse_host_port(job.rendezvous);
  if (!address) return std::move(address).error().with_context("--rendezvous");
  return json::is_utf8(job.rendezvous) ? Result<void>() : invalid_argument("--rendezvous: is no UTF-8");
}

Result<void> complete(EmitJob& job, const EmitKind& kind) {
  SHOAL_TRY_VOID(check_size(job.size));
  SHOAL_TRY_VOID(check_command(job.command));
  SHOAL_TRY(job.model_dir, model_dir_of(job.command, kind));
  if (job.name.empty()) job.name = name_from(job.command.front());
  SHOAL_TRY_VOID(check_name(job.name));
  if (job.image.empty()) job.image = job.name;
  if (!json::is_utf8(job.image)) return invalid_argument("--image: is no UTF-8");
  if (kind.name == "systemd") return check_systemd(job);
  if (!job.rendezvous.empty()) {
    return invalid_argument("--rendezvous is for --emit systemd; elsewhere the tasks know where rank 0 is");
  }
  return {};
}

}  // namespace

int64_t stop_secs(const EmitJob& job) {
  // A server that gives way waits 20 s for a checkpoint (CONTRACT FA-12), which is then on its way to the disk.
  constexpr int64_t kLeastToLeave = 30;
  return std::max<int64_t>(kLeastToLeave, std::chrono::ceil<std::chrono::seconds>(job.policy.stop_limit).count());
}

Result<std::vector<EmittedFile>> emit(std::string_view kind, EmitJob job) {
  const auto found = std::ranges::find(kKinds, kind, &EmitKind::name);
  if (found == kKinds.end()) {
    return invalid_argument("--emit: " + std::string(kind) + " is none of kubernetes, slurm, systemd, compose");
  }
  SHOAL_TRY_VOID(complete(job, *found));
  return found->emit(job);
}

}  // namespace shoal::cli::launch
