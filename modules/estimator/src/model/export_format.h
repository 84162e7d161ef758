// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The file export.json, field by field:
///   checksum      the first line, exactly {"checksum": "<XXH3-64 of everything behind this line>",
///   format        1
///   global_step   of the exported checkpoint
///   inputs        list of {name, dtype, shape}; a size of -1 is the batch. Where other axes vary, too, "axes" names those
///                 of size -1 in their order: ["batch", "time"]
///   outputs       list of {name, dtype, shape, node, output}: node and output give the prediction's place in graph.json
///   texts         list of {name, source, vocabulary}: predictions that name the ids in output `source` (an empty
///                 vocabulary: the ids in digits); with "by_position": true they name the ids 0, 1, ... along the last
///                 axis of `source`
///   signatures    list of {name, outputs}, the default one first; outputs: list of {name, prediction}. Older exports lack
///                 the field; they have one signature with all predictions.
///   meaning       what ids and logits stand for, the text of Meaning::encode() (shoal/graph/meaning.h). Older exports
///                 lack it.
///   run           the text of run.json, as the checkpoint repeats it. Older exports lack it.
///   files         list of {name, bytes, checksum}: every other file of the export. An export has both the checksum and
///                 this list; an export of a version before 2026-11-27 has neither. The two stand at opposite ends of the
///                 file, so that damage to one of them cannot make the export look like an older one.
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
/// A file of the export other than export.json.
struct ExportedFile {
  std::string name;  ///< "graph.json", "variables/checkpoint": relative to the folder of the export.
  uint64_t bytes = 0;
  uint64_t checksum = 0;  ///< XXH3-64 of the whole file.
};
struct ExportDescription {
  int64_t global_step = 0;
  std::vector<ExportedTensor> inputs;
  std::vector<ExportedOutput> outputs;
  std::vector<ExportedText> texts;
  std::vector<nn::ExportSignature> signatures;
  /// What the trained model's ids and logits stand for, as Meaning::encode() writes it; empty: not known.
  std::string meaning = {};
  /// The trained model's constants and rules, as encode_rules() writes them. Stored with the weights, not in export.json.
  /// Empty: not known.
  std::string rules = {};
  std::string run = {};  ///< The checkpoint's text about its training run (checkpoint::encode_run()); empty: not known.
  /// All files but export.json. None: the export is of a version without checksums, so damage in it cannot be noticed.
  std::optional<std::vector<ExportedFile>> files = {};
};

/// Makes the text of export.json. It begins with its own checksum if `description` has `files`.
std::string encode_export(const ExportDescription& description);
/// Reads the text of export.json. DataLoss says what is wrong, also for a wrong checksum; FailedPrecondition for another
/// format version.
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
