// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What a checkpoint says about itself: the contents of `<prefix>.index`. docs/formats.md describes the file field by
/// field. A checkpoint exists exactly when its index does, and the index names everything else with length and checksum.
///
/// Nothing here knows graphs, optimizers or clusters: a checkpoint holds named arrays, counters and opaque strings.
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/dtype.h"
#include "shoal/base/result.h"
#include "shoal/base/shape.h"
#include "shoal/base/time.h"

namespace shoal::checkpoint {

/// Parts of a piece that a later save found changed and wrote to a file of their own. For this the piece is divided into units
/// of `unit_bytes`, numbered from 0; the last one may be shorter.
struct Patch {
  uint32_t file = 0;    ///< An index into Manifest::files.
  uint64_t offset = 0;  ///< Where the numbers of the changed units begin: `count` of int64, ascending. The units follow them.
  uint64_t count = 0;
  uint64_t unit_bytes = 0;
  uint64_t bytes = 0;             ///< Bytes of the units, without their numbers.
  uint64_t numbers_checksum = 0;  ///< The XXH3-64 of the numbers.
  uint64_t checksum = 0;          ///< The XXH3-64 of the units.
  friend bool operator==(const Patch&, const Patch&) = default;

  uint64_t units_offset() const { return offset + count * sizeof(int64_t); }
  uint64_t bytes_in_file() const { return count * sizeof(int64_t) + bytes; }
};

/// Rows [row_begin, row_end) of a tensor, where they lie. A scalar counts as one row.
struct Piece {
  uint32_t file = 0;    ///< An index into Manifest::files.
  uint64_t offset = 0;  ///< Bytes from the start of the file.
  uint64_t bytes = 0;
  int64_t row_begin = 0;
  int64_t row_end = 0;
  uint64_t checksum = 0;             ///< The XXH3-64 of these bytes, before any patch.
  std::vector<Patch> patches = {};  ///< From the oldest to the newest, which counts where several have a unit.
  friend bool operator==(const Piece&, const Piece&) = default;
};

/// A variable, or a slot that an optimizer keeps beside one.
struct TensorEntry {
  std::string name;  ///< Unique in the checkpoint: "dense/kernel", "dense/kernel/momentum".
  DType dtype = DType::kFloat32;
  Shape shape;                ///< The shape of the whole tensor, however many pieces it is in.
  std::string slot_of;        ///< The variable that this slot belongs to. Empty for a variable.
  std::vector<Piece> pieces;  ///< In row order, and together exactly the rows of `shape`.

  bool is_slot() const { return !slot_of.empty(); }
  int64_t rows() const { return shape.rank() == 0 ? 1 : shape[0]; }
  uint64_t row_bytes() const;
  uint64_t bytes() const { return uint64_t(rows()) * row_bytes(); }
  friend bool operator==(const TensorEntry&, const TensorEntry&) = default;
};

enum class FileKind {
  kTensors,
  kTables,   ///< Tensors of which saves change little. A later checkpoint may take the file over.
  kPatches,  ///< What a save found changed in tables.
};

/// A safetensors file beside the index. Checkpoints may share tables and patches: the file then has a name in each of them
/// (Storage::link), and may hold what one of them does not need.
struct DataFile {
  std::string name;  ///< The name without a folder: "model.ckpt-200.data-00000-of-00002".
  uint64_t bytes = 0;
  uint64_t checksum = 0;  ///< The XXH3-64 of the whole file, as `xxhsum -H3` prints it.
  FileKind kind = FileKind::kTensors;
  friend bool operator==(const DataFile&, const DataFile&) = default;
};

/// What goes into a checkpoint beside the tensors. All of it is opaque here.
struct SaveInfo {
  std::map<std::string, uint64_t> counters;      ///< Counters by name, e.g. updates applied to a variable (Adam's t).
  std::map<std::string, std::string> positions;  ///< Input positions by trainer ("chief/0"); any bytes.
  std::set<std::string> ended = {};              ///< Trainers whose inputs have ended, at these positions.
  std::string numerics;                          ///< Backend, version, ISA, threads: what equal bits depend on.
  std::string fingerprint;                       ///< The fingerprint of the job and its graph.
  std::string run;           ///< The run's text (run_file.h). Empty: not known, as before there were runs.
  std::string meaning = {};  ///< What ids and logits stand for (Meaning::encode()); empty: not known.
  std::string rest = {};     ///< What else the model computes with, by hashes; empty: not known.
  WallTime save_time{};
  friend bool operator==(const SaveInfo&, const SaveInfo&) = default;
};

struct Manifest {
  int64_t global_step = 0;
  SaveInfo info;
  std::vector<DataFile> files;
  std::vector<TensorEntry> tensors;  ///< Sorted by name (bytes).

  /// The tensor of that name. Null if there is none.
  const TensorEntry* find(std::string_view name) const;
  /// Bytes of all data files.
  uint64_t data_bytes() const;
  friend bool operator==(const Manifest&, const Manifest&) = default;
};

/// The text of an index file, checksum included. Equal manifests give equal text.
std::string encode_manifest(const Manifest& manifest);
/// Reads an index file's text. DataLoss says what is wrong with it: checksum, JSON, a field, pieces that overlap, leave a
/// gap or lie outside of their file. FailedPrecondition says that it is of a newer version. Whatever comes back is consistent.
/// Never throws; safe on any bytes.
Result<Manifest> decode_manifest(std::string_view text);

/// "model.ckpt-200" (CONTRACT CK-2).
std::string checkpoint_name(int64_t global_step);
/// 200 from "model.ckpt-200"; nothing if `name` is anything else ("model.ckpt-007" and names with a folder too).
std::optional<int64_t> step_of(std::string_view name);

}  // namespace shoal::checkpoint
