// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The manifest: the contents of `<prefix>.index`. docs/formats.md describes the file field by field. A checkpoint exists
/// exactly when its index does; the index names all other files with their lengths and checksums.
///
/// This code knows neither graphs nor optimizers nor clusters: a checkpoint contains named arrays, counters and opaque
/// strings.
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

/// The parts of a Piece (rows of a tensor in a file) that have changed since the Piece was written. A later save writes
/// only these parts, to another file. For this purpose the Piece is divided into units of `unit_bytes`, numbered from 0;
/// the last unit may be shorter.
struct Patch {
  uint32_t file = 0;  ///< An index into Manifest::files.
  /// Where the patch begins in its file: first the numbers of the changed units (`count` int64 values, ascending), then the
  /// new contents of these units.
  uint64_t offset = 0;
  uint64_t count = 0;
  uint64_t unit_bytes = 0;
  uint64_t bytes = 0;             ///< The size of the contents of all changed units, without the `count` numbers.
  uint64_t numbers_checksum = 0;  ///< The XXH3-64 checksum of the `count` numbers.
  uint64_t checksum = 0;          ///< The XXH3-64 checksum of the contents of the changed units.
  friend bool operator==(const Patch&, const Patch&) = default;

  uint64_t units_offset() const { return offset + count * sizeof(int64_t); }
  uint64_t bytes_in_file() const { return count * sizeof(int64_t) + bytes; }
};

/// The place of rows [row_begin, row_end) of a tensor. A scalar counts as one row.
struct Piece {
  uint32_t file = 0;    ///< An index into Manifest::files.
  uint64_t offset = 0;  ///< Bytes from the start of the file.
  uint64_t bytes = 0;
  int64_t row_begin = 0;
  int64_t row_end = 0;
  uint64_t checksum = 0;            ///< The XXH3-64 of these bytes, before any patch.
  std::vector<Patch> patches = {};  ///< From oldest to newest. If several change the same unit, the newest is valid.
  friend bool operator==(const Piece&, const Piece&) = default;
};

/// A variable, or an optimizer's slot that belongs to a variable.
struct TensorEntry {
  std::string name;  ///< Unique in the checkpoint: "dense/kernel", "dense/kernel/momentum".
  DType dtype = DType::kFloat32;
  Shape shape;                ///< The shape of the whole tensor, whatever the number of its pieces.
  std::string slot_of;        ///< For an optimizer's slot (such as a momentum): its variable. Empty for a variable.
  std::vector<Piece> pieces;  ///< In row order. Together they are exactly the rows of `shape`.

  bool is_slot() const { return !slot_of.empty(); }
  int64_t rows() const { return shape.rank() == 0 ? 1 : shape[0]; }
  uint64_t row_bytes() const;
  uint64_t bytes() const { return uint64_t(rows()) * row_bytes(); }
  friend bool operator==(const TensorEntry&, const TensorEntry&) = default;
};

enum class FileKind {
  kTensors,
  kTables,   ///< Tensors that change little between saves. A later checkpoint may share the file.
  kPatches,  ///< The rows of tables that changed since an earlier checkpoint (Patch).
};

/// A safetensors file beside the index. Several checkpoints may share a file of the kind kTables or kPatches. The file then
/// has one name for each of these checkpoints (Storage::link), and may contain data that only some of them need.
struct DataFile {
  std::string name;  ///< The name without a folder: "model.ckpt-200.data-00000-of-00002".
  uint64_t bytes = 0;
  uint64_t checksum = 0;  ///< The XXH3-64 of the whole file, as `xxhsum -H3` prints it.
  FileKind kind = FileKind::kTensors;
  friend bool operator==(const DataFile&, const DataFile&) = default;
};

/// The contents of a checkpoint beside the tensors. This module does not interpret them.
struct SaveInfo {
  std::map<std::string, uint64_t> counters;      ///< Counters by name, e.g. updates applied to a variable (Adam's t).
  std::map<std::string, std::string> positions;  ///< By trainer ("chief/0"): where its input resumes; opaque bytes.
  std::set<std::string> ended = {};              ///< The trainers, as named in `positions`, whose inputs have ended.
  std::string numerics;                          ///< Backend, version, ISA, threads: all that can change a result's bits.
  std::string fingerprint;                       ///< The fingerprint of the job and its graph.
  std::string run;           ///< The text of run.json (run_file.h). Empty: not known, as in older checkpoints.
  std::string meaning = {};  ///< Which word or class each id or logit stands for (Meaning::encode()). Empty: not known.
  std::string rules = {};    ///< The model's constants, update rules and op versions (encode_rules()). Empty: not known.
  WallTime save_time{};
  friend bool operator==(const SaveInfo&, const SaveInfo&) = default;
};

struct Manifest {
  int64_t global_step = 0;
  SaveInfo info;
  std::vector<DataFile> files;
  std::vector<TensorEntry> tensors;  ///< Sorted by name (bytes).

  /// The tensor with this name. Null if there is none.
  const TensorEntry* find(std::string_view name) const;
  /// The sum of the sizes of all data files.
  uint64_t data_bytes() const;
  friend bool operator==(const Manifest&, const Manifest&) = default;
};

/// Writes the text of an index file, with its checksum. Equal manifests give equal text.
std::string encode_manifest(const Manifest& manifest);
/// Reads the text of an index file. DataLoss describes the damage: a wrong checksum, JSON or field, or pieces that overlap,
/// leave a gap or lie outside of their file. FailedPrecondition says that the file has a newer version. A manifest that is
/// returned is consistent. Never throws; safe on any bytes.
Result<Manifest> decode_manifest(std::string_view text);

/// Returns "model.ckpt-200". The step is written without leading zeros.
std::string checkpoint_name(int64_t global_step);
/// 200 for "model.ckpt-200"; nothing if `name` has any other form ("model.ckpt-007", a name with a folder).
std::optional<int64_t> step_of(std::string_view name);

}  // namespace shoal::checkpoint
