// SPDX-License-Identifier: Apache-2.0
#pragma once
/// How folders of exports are ordered (CONTRACT RU-5, EST-13): an export's name is a number of ten digits, and of two exports
/// in one folder the later one has the larger number. No clock and no time of a file says which one is newer.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/storage.h"

namespace shoal {

/// The largest number that an export can have.
inline constexpr int64_t kExportNumberMax = 9'999'999'999;

/// The number of an export of this name; nothing for a name that is not exactly ten digits.
std::optional<int64_t> export_number(std::string_view name);
/// "0000000042" for 42. `number` is in [0, kExportNumberMax].
std::string export_name(int64_t number);
/// The names of the exports in `folder`, the oldest first: its folders of exactly ten digits. Everything else there is passed
/// over. Errors: those of Storage::list(), NotFound for a folder that is missing.
Result<std::vector<std::string>> exports_in(Storage& storage, const std::string& folder);

}  // namespace shoal
