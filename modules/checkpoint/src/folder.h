#pragma once
/// The files of a model_dir that belong to checkpoints: finding them by name, clearing leftovers, deleting a checkpoint.
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/storage.h"
#include "shoal/checkpoint/writer.h"

namespace shoal::checkpoint {

/// The names in `listing` that belong to checkpoint `name`: "model.ckpt-5.*", the index first.
std::vector<std::string> files_of(const std::vector<FileInfo>& listing, std::string_view name);

/// The steps of the indexes in `listing`, ascending.
std::vector<int64_t> indexed_steps(const std::vector<FileInfo>& listing);

/// Removes what a killed save left: temporary files, and data files of checkpoints that have no index.
void remove_leftovers(Storage& storage, const std::string& model_dir, const std::vector<FileInfo>& listing);

/// Removes the files of checkpoint `name`, index first: from then on it is no checkpoint. Failures are warnings.
void remove_checkpoint(Storage& storage, const std::string& model_dir, const std::vector<FileInfo>& listing,
                       std::string_view name, const WarningSink& warn);

}  // namespace shoal::checkpoint
