// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Collects what has changed in tables since the previous checkpoint: as a rule, the changed rows. The changes stay in
/// memory, up to a limit, until all of them are written to one file.
#include <string>
#include <vector>

#include "data_file.h"

namespace shoal::checkpoint {

/// The parts of one table that changed since the previous checkpoint. A table consists of units (rows, as a rule). Blocks
/// of units are compared one after the other; a Block has those units of one block that changed.
struct ChangedUnits {
  struct Block {
    std::vector<int64_t> numbers;  ///< The changed units (row numbers, as a rule), ascending over all blocks.
    std::vector<std::byte> units;  ///< The new bytes of the changed units, end to end.
    uint64_t bytes_in_file() const { return numbers.size() * sizeof(int64_t) + units.size(); }
  };
  uint64_t unit_bytes = 0;
  std::vector<Block> blocks = {};

  uint64_t count() const;
  uint64_t bytes() const;  ///< The size of Block::units of all blocks, without Block::numbers.
};

class PatchFile {
 public:
  /// `bytes_max` limits the size of all changes together, including bytes that are reserved but not added yet.
  PatchFile(int64_t global_step, uint64_t bytes_max) : global_step_(global_step), bytes_left_(bytes_max) {}

  /// Reserves `bytes` of the memory that the constructor's `bytes_max` allows. Returns false if less is left.
  bool reserve(uint64_t bytes);
  void give_back(uint64_t bytes) { bytes_left_ += bytes; }
  /// Stores the changes of `segment` until write() writes them. Returns the number of the patch, for patch().
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
