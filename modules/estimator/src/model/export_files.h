// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The files of an export as export.json lists them: the list is made when an export is written, and compared with what is
/// there before a model is loaded.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "model/export_format.h"
#include "model/memory_files.h"
#include "shoal/base/storage.h"
#include "shoal/checkpoint/reader.h"
#include "shoal/checkpoint/writer.h"

namespace shoal {

/// How to repair a damaged export, for the end of a sentence.
inline constexpr std::string_view kExportHelp = "copy the export again from where it is whole, or export the model again";

/// DataLoss: "export m/export/best/1700000000: <path>: <what>; <what helps>".
Error damaged_export(const std::string& folder, const std::string& path, const std::string& what);

/// A file of these contents.
ExportedFile exported_file(std::string name, std::string_view contents);
/// The files of a checkpoint that was saved in the folder kExportVariables of an export, as they were written: what a disk has
/// made of them by now shows when the export is loaded.
std::vector<ExportedFile> exported_variables(const checkpoint::Saved& saved);

/// Compares the files of the export `folder` with `listed`. The bytes that a model is loaded from come to lie in `files`, as they
/// were compared, so a folder that changes meanwhile changes no model. Of weights only the lengths are compared here: their
/// checkpoint has checksums. DataLoss names the first file that is missing, cut or another one.
Result<void> check_export_files(Storage& storage, const std::string& folder, const std::vector<ExportedFile>& listed,
                                MemoryFiles& files);

/// What export.json of the export `folder` says, once all files that it lists are compared (check_export_files()). NotFound if
/// there is no export; DataLoss; FailedPrecondition for another format version.
Result<ExportDescription> read_export_description(Storage& storage, const std::string& folder, MemoryFiles& files);
/// The text of the export's graph. A missing file is damage, because export.json is written last and is there.
Result<std::string> read_export_graph(const std::string& folder, MemoryFiles& files);
/// The predictions: those of the graph, then text that is made of them.
std::vector<ExportedTensor> outputs_of(const ExportDescription& description);

/// The weights of the export `folder`, to be read. DataLoss: missing or damaged.
Result<std::unique_ptr<checkpoint::Reader>> open_exported_variables(Storage& storage, const std::string& folder);

}  // namespace shoal
