// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Names and order of export folders. The name of an export is a number of ten digits, and of two exports in one folder the
/// newer has the larger number. Neither a clock nor the time of a file decides which one is newer.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/storage.h"

namespace shoal {

/// The largest number of an export.
inline constexpr int64_t kExportNumberMax = 9'999'999'999;

/// The number in an export's name; nothing for a name that is not exactly ten digits.
std::optional<int64_t> export_number(std::string_view name);
/// "0000000042" for 42. `number` is in [0, kExportNumberMax].
std::string export_name(int64_t number);
/// The names of the exports in `folder`, the oldest first. Exports are the sub-folders named by exactly ten digits; all
/// other entries are skipped. Errors: those of Storage::list(), NotFound for a folder that is missing.
Result<std::vector<std::string>> exports_in(Storage& storage, const std::string& folder);
/// The path of the newest export of all exporters of the run in `model_dir`, such as "DIR/export/best/0000000042"; nothing
/// if there is none or the folder cannot be read.
std::optional<std::string> newest_export_of_run(Storage& storage, const std::string& model_dir);

}  // namespace shoal
