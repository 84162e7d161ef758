// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The file export.json, field by field:
///   checksum      the first line, exactly {"checksum": "<XXH3-64 of all that follows this line>",
///   format        1
///   global_step   of the checkpoint that was exported
///   inputs        list of {name, dtype, shape}; a size of -1 is the batch. Where others vary, too, "axes" names those of
///                 -1 in their order: ["batch", "time"]
///   outputs       list of {name, dtype, shape, node, output}: where in graph.json the prediction is
///   texts         list of {name, source, vocabulary}: predictions that are names of the ids in output `source`
///                 (an empty vocabulary: the ids in digits); with "by_position": true names of the ids 0, 1, ... along
///                 the last axis of `source`
///   signatures    list of {name, outputs}, the default one first; outputs: list of {name, prediction}. Older exports
///                 have none, which is one over all predictions.
///   meaning       what ids and logits stand for, the text of Meaning::encode() (shoal/graph/meaning.h). Older exports
///                 have none.
///   run           the text of run.json, as the checkpoint repeats it. Older exports have none.
///   files         list of {name, bytes, checksum}: every other file of the export. An export has the checksum and this list,
///                 or, of a version before 2026-11-27, neither. Two marks at two ends, so that damage to one of them does
///                 not make an older export of it.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/result.h"
#include "shoal/estimator/exported_model.h"
#include "shoal/nn/export_signature.h"

namespace shoal {

struct ExportedOutput {
  ExportedTensor tensor;
  std::string node;
  int output = 0;
};
struct ExportedText {
  std::string name;
  std::string source;
  std::vector<std::string> vocabulary;
  bool by_position = false;
};
/// A file of the export beside export.json.
struct ExportedFile {
  std::string name;  ///< "graph.json", "variables/checkpoint": relative to the folder of the export.
  uint64_t bytes = 0;
  uint64_t checksum = 0;  ///< XXH3-64 of all of it.
};
struct ExportDescription {
  int64_t global_step = 0;
  std::vector<ExportedTensor> inputs;
  std::vector<ExportedOutput> outputs;
  std::vector<ExportedText> texts;
  std::vector<nn::ExportSignature> signatures;
  std::string meaning = {};  ///< Meaning::encode() of what it was trained with; empty: not known.
  std::string rest = {};     ///< encode_rest(), which is not in export.json but with the weights; empty: not known.
  std::string run = {};      ///< What its checkpoint says of the run (checkpoint::encode_run()); empty: not known.
  /// All other files. Nothing: an export of a version without checksums, which cannot tell damage.
  std::optional<std::vector<ExportedFile>> files = {};
};

/// The text of export.json. The text begins with its own checksum if `description` has `files`.
std::string encode_export(const ExportDescription& description);
/// DataLoss saying what is wrong, a checksum that does not fit too; FailedPrecondition for another format version.
Result<ExportDescription> decode_export(std::string_view text);

inline constexpr std::string_view kExportFile = "export.json";
inline constexpr std::string_view kExportGraph = "graph.json";
inline constexpr std::string_view kExportVariables = "variables";
inline constexpr std::string_view kExportAssets = "assets";
inline constexpr std::string_view kExportOnnx = "model.onnx";
inline constexpr std::string_view kExportCppHeader = "model.h";
inline constexpr std::string_view kExportCppSource = "model.cc";
inline constexpr std::string_view kExportProof = "proof.json";

}  // namespace shoal
