#pragma once
/// `shoal launch --emit`: what other engines are told, to start the job that `shoal launch` would start on this machine.
/// Text that says where the job's token is, and never what it is.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "launch/policy.h"
#include "shoal/cluster/cluster_spec.h"

namespace shoal::cli::launch {

/// What is written down.
struct EmitJob {
  cluster::ClusterSize size;
  std::vector<std::string> command;  ///< The program and its arguments.
  std::string name{};                ///< Of the job: lower-case letters, digits and '-'. Empty: from the program's name.
  std::string image{};               ///< Of containers. Empty: `name`.
  std::string rendezvous{};          ///< systemd: where rank 0 answers, as host:port.
  std::string model_dir{};           ///< emit() takes it from the command.
  PolicyOptions policy{};            ///< Restarts, and how long tasks may take to leave.
};

struct EmittedFile {
  std::string name;
  std::string text;
};

/// The files for `kind`: kubernetes, slurm, systemd or compose. The same job gives the same text. InvalidArgument: another
/// kind; a job that cannot be started that way; or a name, address or argument that cannot be written there.
Result<std::vector<EmittedFile>> emit(std::string_view kind, EmitJob job);

/// Whole seconds that tasks have to leave.
int64_t stop_secs(const EmitJob& job);

// One per kind, of a job that is complete.
std::vector<EmittedFile> emit_kubernetes(const EmitJob& job);
std::vector<EmittedFile> emit_slurm(const EmitJob& job);
std::vector<EmittedFile> emit_systemd(const EmitJob& job);
std::vector<EmittedFile> emit_compose(const EmitJob& job);

}  // namespace shoal::cli::launch
