// SPDX-License-Identifier: Apache-2.0
#pragma once
/// `shoal launch --emit`: writes files with which Kubernetes, Slurm, systemd or compose starts the job that `shoal launch`
/// would start on this machine. The files say where the job's token is, and never contain the token.
#include <string_view>
#include <vector>

#include "launch/emit/emit_job.h"

namespace shoal::cli::launch {

/// Returns the files for `kind`: kubernetes, slurm, systemd or compose. The same job gives the same text. InvalidArgument:
/// an unknown `kind`; a job that this kind cannot start; an option that this kind cannot obey; a flag or variable of the
/// program that contradicts the job; a secret among the program's arguments; a name, address or argument that the files
/// of this kind cannot hold.
Result<std::vector<EmittedFile>> emit(std::string_view kind, EmitJob job);

}  // namespace shoal::cli::launch
