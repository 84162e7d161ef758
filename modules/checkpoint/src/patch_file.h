// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Collects the changed units of all tables of a save. They stay in memory, up to a limit, and are then written to one
/// file.
#include <string>
#include <vector>

#include "data_file.h"

namespace shoal::checkpoint {

/// The changed units of one piece. Each block contains the units that one comparison found.
struct ChangedUnits {
  struct Block {
    std::vector<int64_t> numbers;  ///< The numbers of the units, ascending over all blocks.
    std::vector<std::byte> units;  ///< The units, one after another.
    uint64_t bytes_in_file() const { return numbers.size() * sizeof(int64_t) + units.size(); }
  };
  uint64_t unit_bytes = 0;
  std::vector<Block> blocks = {};

  uint64_t count() const;
  uint64_t bytes() const;  ///< The size of the units, without their numbers.
};

class PatchFile {
 public:
  /// `bytes_max` limits the size of all changes together, including bytes that are reserved but not added yet.
  PatchFile(int64_t global_step, uint64_t bytes_max) : global_step_(global_step), bytes_left_(bytes_max) {}

  /// Takes `bytes` from the limit. Returns false if fewer are left.
  bool reserve(uint64_t bytes);
  void give_back(uint64_t bytes) { bytes_left_ += bytes; }
  /// Keeps the changes of `segment` for write(). Returns a number for patch().
  size_t add(const Segment& segment, ChangedUnits changes);
  bool empty() const { return patches_.empty(); }

  /// Writes all changes to one file and frees their memory.
  Result<std::unique_ptr<DataFileWriter>> write(Storage& storage, const std::string& path);
  /// The patch with this number, valid once the file is written. The caller sets Patch::file.
  const Patch& patch(size_t number) const { return patches_[number]; }

 private:
  const int64_t global_step_;
  uint64_t bytes_left_;
  ArenaLayout layout_;
  std::vector<ChangedUnits> changes_;
  std::vector<Patch> patches_;
};

}  // namespace shoal::checkpoint
