// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The files of an export as export.json lists them. Writing an export makes the list; loading a model first checks the
/// files against it.
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

/// The advice at the end of sentences about a damaged export.
inline constexpr std::string_view kExportHelp = "copy the export again from where it is whole, or export the model again";

/// DataLoss: "export m/export/best/1700000000: <path>: <what>; <advice>".
Error damaged_export(const std::string& folder, const std::string& path, const std::string& what);

/// Makes the entry in export.json's list of files for a file with these contents.
ExportedFile exported_file(std::string name, std::string_view contents);
/// Makes the entries in export.json's list for the files of a checkpoint, which lie in the folder kExportVariables of the
/// export. Sizes and checksums are those of the bytes as they were written, so that loading notices later damage.
std::vector<ExportedFile> exported_variables(const checkpoint::Saved& saved);

/// Checks the files of the export `folder` against the list `listed`. Stores the bytes from which a model is loaded in
/// `files`, so that a later change of the folder cannot change the model. Of the weights' data files only the sizes are
/// checked here, since a checkpoint has checksums of its own. DataLoss names the first file that is missing, has another
/// size or has another checksum.
Result<void> check_export_files(Storage& storage, const std::string& folder, const std::vector<ExportedFile>& listed,
                                MemoryFiles& files);

/// Reads export.json of the export `folder`, after all files that it lists have passed check_export_files(). NotFound if
/// there is no export; DataLoss for damage; FailedPrecondition for another format version.
Result<ExportDescription> read_export_description(Storage& storage, const std::string& folder, MemoryFiles& files);
/// The text of the export's graph. A missing file is damage, because export.json exists and was written last.
Result<std::string> read_export_graph(const std::string& folder, MemoryFiles& files);
/// The outputs of a model: the predictions in its graph, then texts that are made from them.
std::vector<ExportedTensor> outputs_of(const ExportDescription& description);

/// Opens the weights of the export `folder` for reading. DataLoss: missing or damaged.
Result<std::unique_ptr<checkpoint::Reader>> open_exported_variables(Storage& storage, const std::string& folder);

}  // namespace shoal
