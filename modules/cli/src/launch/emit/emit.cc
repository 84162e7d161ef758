// SPDX-License-Identifier: Apache-2.0
#include "launch/emit/emit.h"

#include <algorithm>
#include <chrono>

#include "launch/emit/engine.h"
#include "launch/emit/quoting.h"
#include "launch/program_command.h"
#include "shoal/cluster/place.h"
#include "shoal/json/fields.h"

namespace shoal::cli::launch {
namespace {

// Leaves room for what Kubernetes appends: it names a pod by this name and a number, in at most 63 characters.
constexpr size_t kNameBytesMax = 40;

bool is_letter(char c) { return c >= 'a' && c <= 'z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Checks a name by the rules of Kubernetes for pods. Slurm, systemd and compose accept these names, too.
Result<void> check_name(const std::string& name) {
  const bool of_such = std::ranges::all_of(name, [](char c) { return is_letter(c) || is_digit(c) || c == '-'; });
  if (of_such && !name.empty() && name.size() <= kNameBytesMax && is_letter(name.front()) && name.back() != '-') return {};
  return invalid_argument("--name: " + json::text_of(json::Json(name), -1, true) +
                          ": a name has lower-case letters, digits and '-', at most " + std::to_string(kNameBytesMax) +
                          ", begins with a letter and does not end with '-'");
}

/// Makes a name from the program's file name, as far as its characters allow: "mnist" from "build/bin/Mnist.sh".
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

Result<void> check_size(const cluster::ClusterSize& size) {
  SHOAL_TRY_VOID(size.check());
  if (size.tasks() == 1) {
    return invalid_argument(
        "--emit: a job of one task needs no engine; ask for more tasks with --ps and --workers, or with --size");
  }
  if (size.master) {
    return invalid_argument(
        "--emit: tasks that are told a rank have a chief and no master; leave --master out, or say "
        "--evaluator");
  }
  SHOAL_TRY_VOID(cluster::plan_of(size.tasks(), size.ps, size.evaluator));
  return {};
}

Result<void> check_options(const EmitJob& job, const Engine& engine) {
  for (const auto& [option, why] : engine.without) {
    if (std::ranges::find(job.options, option) == job.options.end()) continue;
    return invalid_argument("--emit " + std::string(engine.name) + ": " + std::string(option) + " " + std::string(why));
  }
  return {};
}

/// Checks --rendezvous: the address at which tasks that systemd starts find each other. All machines have to reach it.
Result<void> check_rendezvous(const std::string& rendezvous) {
  if (rendezvous.empty()) {
    return invalid_argument(
        "--emit systemd: on which board is rank 0? --rendezvous board1:4000 says its name or address, and "
        "a port that is free there");
  }
  auto address = cluster::parse_host_port(rendezvous);
  if (!address) return std::move(address).error().with_context("--rendezvous");
  if (!json::is_utf8(rendezvous) || has_noncharacter(rendezvous)) return invalid_argument("--rendezvous: is no UTF-8");
  if (address->port == 0) {
    return invalid_argument("--rendezvous: " + rendezvous +
                            ": port 0 means any free port, and the other tasks would not find rank 0; name a port");
  }
  if (address->host == "0.0.0.0" || address->host == "[::]") {
    return invalid_argument("--rendezvous: " + rendezvous +
                            ": means all addresses of a board on that board, and none elsewhere; name the board of rank 0");
  }
  return {};
}

Result<void> complete(EmitJob& job, const Engine& engine) {
  SHOAL_TRY_VOID(check_size(job.size));
  SHOAL_TRY_VOID(check_options(job, engine));
  SHOAL_TRY_VOID(check_program(job, engine));
  if (job.name.empty()) job.name = name_from(job.command[read_command(job.command).program]);
  SHOAL_TRY_VOID(check_name(job.name));
  if (job.image.empty()) job.image = job.name;
  SHOAL_TRY_VOID(check_image(job.image));
  return engine.name == "systemd" ? check_rendezvous(job.rendezvous) : Result<void>();
}

}  // namespace

int64_t stop_secs(const EmitJob& job) {
  // 20 s: the time for which a server that is asked to end waits for the chief to save. 10 s more for the checkpoint to
  // reach the disk.
  constexpr int64_t kLeastToLeave = 30;
  return std::max<int64_t>(kLeastToLeave, std::chrono::ceil<std::chrono::seconds>(job.policy.stop_limit).count());
}

Result<std::vector<EmittedFile>> emit(std::string_view kind, EmitJob job) {
  const auto found = std::ranges::find(engines(), kind, &Engine::name);
  if (found == engines().end()) {
    return invalid_argument("--emit: " + std::string(kind) + " is none of kubernetes, slurm, systemd, compose");
  }
  SHOAL_TRY_VOID(complete(job, *found));
  return found->emit(job);
}

}  // namespace shoal::cli::launch
