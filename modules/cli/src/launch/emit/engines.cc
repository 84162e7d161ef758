// SPDX-License-Identifier: Apache-2.0
#include "launch/emit/engine.h"

namespace shoal::cli::launch {
namespace {

constexpr OptionWithoutPlace kAddressIsKnown{"--rendezvous",
                                             "is for --emit systemd; elsewhere the tasks know where rank 0 is"};
constexpr OptionWithoutPlace kNoImage{"--image", "is for containers, and this runs the program itself"};

constexpr std::array kNotOfKubernetes{
    kAddressIsKnown,
    OptionWithoutPlace{"--restart-secs", "has no place there: Kubernetes itself says how long a pod that failed waits"}};
constexpr std::array kNotOfCompose{
    kAddressIsKnown,
    OptionWithoutPlace{"--restart-secs", "has no place there: Docker itself says how long a container that failed waits"}};
constexpr std::array kNotOfSystemd{kNoImage};
constexpr std::array kNotOfSlurm{
    kAddressIsKnown, kNoImage,
    OptionWithoutPlace{"--max-restarts", "has no place there: Slurm starts no task again; the same sbatch goes on"},
    OptionWithoutPlace{"--restart-secs", "has no place there: Slurm starts no task again; the same sbatch goes on"},
    OptionWithoutPlace{"--stop-secs", "has no place there: KillWait of slurm.conf says it for all jobs"}};

constexpr std::array<Engine, 4> kEngines{{
    {"kubernetes", &emit_kubernetes, true, true, "leave",
     "keep it in a Secret, and name that by secretKeyRef in the Job's env; the job's own token is there already",
     kNotOfKubernetes},
    {"slurm", &emit_slurm, false, false, "end",
     "export it in the shell that calls sbatch, which passes variables on; the job's own token is read from its file",
     kNotOfSlurm},
    {"systemd", &emit_systemd, true, false, "leave",
     "write it into the unit's EnvironmentFile in /etc/shoal, beside the job's own token", kNotOfSystemd},
    {"compose", &emit_compose, true, true, "leave",
     "keep it in a file that stands under secrets: beside the job's own token, and let the program read /run/secrets",
     kNotOfCompose},
}};

}  // namespace

std::span<const Engine> engines() { return kEngines; }

}  // namespace shoal::cli::launch
